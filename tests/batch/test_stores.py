"""Object stores: what an address means, and that nothing of a session stays behind."""

import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.registry import _registry

from cachediag import extras
from cachediag.batch import stores
from cachediag.batch.model import Named
from cachediag.batch.stores import at_hand, found
from cachediag.errors import InputError, UsageError
from tests.batch.material import store


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    """A store in memory, empty again afterwards."""
    kept = fsspec.filesystem("memory")
    yield kept
    kept.store.clear()
    kept.pseudo_dirs[:] = [""]


def labels(address: str) -> tuple[list[str], int]:
    sessions, passed_over = found(address)
    assert all(each.is_remote for each in sessions)
    assert [each.address for each in sessions] == [each.label for each in sessions]
    return [each.label for each in sessions], passed_over


def test_in_a_folder_objects_are_told_by_their_suffix(memory: fsspec.AbstractFileSystem) -> None:
    for name in ("b.cachediag", "a.har", "deep/c.jsonl", "one.json", "_SUCCESS", "read.me"):
        memory.pipe(f"/runs/{name}", b"x")
    expected = [f"memory://runs/{name}" for name in ("a.har", "b.cachediag", "deep/c.jsonl")]
    assert labels("memory://runs") == ([*expected, "memory://runs/one.json"], 2)
    assert labels("memory://runs/") == ([*expected, "memory://runs/one.json"], 2)


def test_a_glob_and_a_name_are_taken_at_their_word(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe("/runs/b.bin", b"x")
    memory.pipe("/runs/a.bin", b"x")
    memory.pipe("/runs/deep/c.bin", b"x")
    assert labels("memory://runs/*") == (["memory://runs/a.bin", "memory://runs/b.bin"], 0)
    assert labels("memory://runs/**/*.bin")[0][-1] == "memory://runs/deep/c.bin"
    assert labels("memory://runs/b.bin") == (["memory://runs/b.bin"], 0)
    assert labels("memory://runs/none.bin") == (["memory://runs/none.bin"], 0)


def test_what_is_not_there(memory: fsspec.AbstractFileSystem) -> None:
    memory.pipe("/runs/read.me", b"x")
    with pytest.raises(InputError, match="memory://runs: the folder holds no session"):
        found("memory://runs")
    with pytest.raises(UsageError, match="nothing matches"):
        found("memory://runs/*.cachediag")


def test_a_session_is_fetched_into_a_file_that_is_private_and_gone_afterwards(
    memory: fsspec.AbstractFileSystem, tmp_path: Path
) -> None:
    content = store(tmp_path / "a.cachediag").read_bytes()
    memory.pipe("/runs/a.cachediag", content)
    named = Named("a", "memory://runs/a.cachediag", is_remote=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with at_hand(named, scratch) as path:
        assert path.read_bytes() == content
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert path.is_relative_to(scratch)
    assert list(scratch.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), at_hand(named, scratch):
        raise KeyboardInterrupt
    assert list(scratch.iterdir()) == []
    missing = Named("b", "memory://runs/b.cachediag", is_remote=True)
    with (
        pytest.raises(InputError, match=r"cannot be fetched \(there is no such object\)"),
        at_hand(missing, scratch),
    ):
        pass
    assert list(scratch.iterdir()) == []


def test_what_is_on_this_machine_is_read_where_it_is(tmp_path: Path) -> None:
    path = store(tmp_path / "a.cachediag")
    with at_hand(Named("a", str(path))) as held:
        assert held == path
    assert path.exists()


def test_the_stores_own_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where it is installed, an import of it fails all the same.
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    for address, package in (("s3://agents/a.cachediag", "s3fs"), ("gs://agents/*", "gcsfs")):
        with pytest.raises(UsageError, match="the store's own package is not installed") as raised:
            found(address)
        assert raised.value.where == address
        assert raised.value.remedy == f"Install it: pip install {package}"

    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    monkeypatch.delitem(_registry, "https", raising=False)
    with pytest.raises(UsageError, match="the store's own package is not installed") as raised:
        found("https://berth:secret@host/a.cachediag")
    assert raised.value.where == "https://host/a.cachediag"
    assert "aiohttp" in (raised.value.remedy or "")


def test_an_address_of_no_kind() -> None:
    with pytest.raises(UsageError, match="no such kind of address"):
        found("berth://agents/a.cachediag")


def test_without_fsspec_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "has", lambda _: False)
    with pytest.raises(UsageError, match="needs fsspec, which is not installed") as raised:
        found("s3://agents/a.cachediag")
    assert raised.value.remedy == "Install it: pip install 'cachediag[fleet]'"


def test_credentials_in_an_address_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # What the web's store needs need not be here.
    monkeypatch.setattr(stores, "_opened", lambda address: (None, address))
    (named,) = found("https://berth:secret@host/a.cachediag?X-Signature=secret")[0]
    assert named.label == "https://host/a.cachediag"
    assert named.address == "https://berth:secret@host/a.cachediag?X-Signature=secret"
