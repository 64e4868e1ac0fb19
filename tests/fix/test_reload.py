"""A rule file that changes while its rules are in use."""

import os
from pathlib import Path

import pytest

from cachediag.errors import InputError
from cachediag.fix.reload import WatchedRules

from .material import TOML

ONE = ["strip-billing-header"]
BOTH = ["strip-billing-header", "sort-tools"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "rules.toml"
    made.write_text(TOML)
    return made


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def watched(path: Path, told: list[str]) -> WatchedRules:
    return WatchedRules(path, told.append)


def enabled(watched: WatchedRules) -> list[str]:
    return [rule.id for rule in watched.current().enabled]


def write(path: Path, text: str) -> None:
    """Write a file, so that it is seen however coarse the clock of the file system is."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_bytes(text.encode("latin-1"))
    os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def test_a_change_is_taken_up_and_told(watched, path, told):
    assert enabled(watched) == ONE
    write(path, TOML.replace("enabled = false", "enabled = true"))
    assert enabled(watched) == BOTH
    assert enabled(watched) == BOTH
    assert told == [f"{path}: read again, 2 of 2 rules enabled"]


def test_the_file_is_read_only_when_it_has_changed(watched, path, told):
    assert watched.current() is watched.current()
    status = path.stat()
    # Neither size nor time differ, so nothing is read.
    path.write_text(TOML.replace("V01", "V02"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert watched.current().rules[0].finding == "V01"


def test_a_file_put_in_its_place_is_seen(watched, path, told):
    status = path.stat()
    other = path.with_name("other.toml")
    other.write_text(TOML.replace("V01", "V02"))
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)
    assert watched.current().rules[0].finding == "V02"


@pytest.mark.parametrize("wrong", ["not toml [", 'version = 1\n[[rule]]\nid = "x"\n', "\xff"])
def test_what_is_wrong_is_told_once_and_the_last_good_rules_stay(watched, path, told, wrong):
    path.write_bytes(wrong.encode("latin-1"))
    for _ in range(3):
        assert enabled(watched) == ONE
    assert len(told) == 1
    assert told[0].startswith(f"{path}:")
    assert told[0].endswith("; the rules read before stay in force")
    write(path, wrong.replace("x", "y") + "\n\n")
    assert enabled(watched) == ONE
    assert len(told) == 2
    write(path, TOML)
    assert enabled(watched) == ONE
    assert told[2:] == [f"{path}: read again, 1 of 2 rules enabled"]


def test_a_file_that_is_gone_is_told_once_and_its_rules_stay(watched, path, told):
    path.unlink()
    for _ in range(3):
        assert enabled(watched) == ONE
    assert len(told) == 1
    assert told[0].startswith(f"{path}:")
    write(path, TOML.replace("enabled = false", "enabled = true"))
    assert enabled(watched) == BOTH
    assert len(told) == 2


def test_at_first_a_wrong_file_is_an_error(path, told):
    path.write_text("not toml [")
    with pytest.raises(InputError):
        WatchedRules(path, told.append)
    with pytest.raises(InputError):
        WatchedRules(path.with_name("missing.toml"), told.append)
