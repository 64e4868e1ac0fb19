"""What the arguments mean."""

from pathlib import Path

import pytest

from cachediag.batch.naming import find
from cachediag.errors import InputError, UsageError
from tests.batch.material import folder_of_bodies, store


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three sessions and a folder of bodies; the working directory is beside them."""
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    store(tmp_path / "runs" / "1.cachediag")
    store(tmp_path / "runs" / "2.cachediag")
    store(tmp_path / "runs" / "deep" / "3.cachediag")
    folder_of_bodies(tmp_path / "runs" / "bodies")
    return tmp_path / "runs"


def test_files_keep_the_order_in_which_they_are_named_and_their_names(runs: Path) -> None:
    found = find(["runs/2.cachediag", "runs/1.cachediag"]).sessions
    assert [each.label for each in found] == ["runs/2.cachediag", "runs/1.cachediag"]
    assert [each.address for each in found] == [
        str(runs / "2.cachediag"),
        str(runs / "1.cachediag"),
    ]
    assert not any(each.is_remote for each in found)


def test_a_folder_is_all_that_is_in_it(runs: Path) -> None:
    (runs / "notes.txt").write_text("Remember the berths.", encoding="utf-8")
    found = find(["runs"])
    assert [each.label for each in found.sessions] == [
        "runs/1.cachediag",
        "runs/2.cachediag",
        "runs/bodies",
        "runs/deep/3.cachediag",
    ]
    assert found.passed_over == 1


def test_what_is_named_twice_is_taken_once_where_it_is_named_first(runs: Path) -> None:
    found = find(["runs/2.cachediag", "runs", "./runs/2.cachediag"]).sessions
    assert [each.label for each in found] == [
        "runs/2.cachediag",
        "runs/1.cachediag",
        "runs/bodies",
        "runs/deep/3.cachediag",
    ]


def test_globs(runs: Path) -> None:
    for beside in ("1.cachediag-wal", "1.cachediag-shm"):
        (runs / beside).touch()
    assert [each.label for each in find(["runs/*.cachediag"]).sessions] == [
        "runs/1.cachediag",
        "runs/2.cachediag",
    ]
    assert [each.label for each in find(["runs/**/*.cachediag"]).sessions] == [
        "runs/1.cachediag",
        "runs/2.cachediag",
        "runs/deep/3.cachediag",
    ]
    # A folder that is matched is looked through; SQLite's own files are not sessions.
    assert [each.label for each in find(["runs/*"]).sessions] == [
        "runs/1.cachediag",
        "runs/2.cachediag",
        "runs/bodies",
        "runs/deep/3.cachediag",
    ]


def test_a_file_whose_name_looks_like_a_glob_is_itself(runs: Path) -> None:
    odd = store(runs / "[1].cachediag")
    assert [each.address for each in find(["runs/[1].cachediag"]).sessions] == [str(odd)]


def test_a_recording_by_its_name(runs: Path, tmp_path: Path) -> None:
    path = store(tmp_path / "home" / "sessions" / "monday.cachediag")
    (found,) = find(["monday"]).sessions
    assert (found.label, found.address) == ("monday", str(path))


def test_a_file_address_is_a_path(runs: Path) -> None:
    spaced = store(runs / "a b.cachediag")
    (found,) = find([spaced.as_uri()]).sessions
    assert (found.address, found.is_remote) == (str(spaced), False)
    assert find([f"file://{runs}/deep"]).sessions[0].address == str(runs / "deep" / "3.cachediag")
    with pytest.raises(UsageError, match="names another machine"):
        find(["file://elsewhere/a.cachediag"])


def test_what_means_nothing_is_said_before_anything_is_done(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        find(["runs/1.cachediag", "runs/9.cachediag"])
    with pytest.raises(UsageError, match=r"runs/9\*: nothing matches"):
        find(["runs/9*"])
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="none: the folder holds no session"):
        find(["none"])
    with pytest.raises(UsageError, match="standard input is read as one session"):
        find(["-", "runs"])
