import errno
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import NoReturn

import pytest

from cachediag.errors import SessionError, UsageError
from cachediag.session import (
    Session,
    new_path,
    newest,
    recorded,
    register,
    resolve,
    sessions_dir,
)
from cachediag.session.library import replacing

NOW = datetime(2026, 11, 29, 23, 41, 7)  # noqa: DTZ001 - names are in local time


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def session(path: Path, written: int) -> Path:
    Session.create(path).close()
    os.utime(path, (written, written))
    return path


def test_a_recording_is_named_after_the_local_time(home: Path) -> None:
    first = new_path(NOW)
    assert first == home / "sessions" / "2026-11-29-2341.cachediag"
    assert new_path(NOW).name == "2026-11-29-2341-2.cachediag"
    assert new_path(NOW).name == "2026-11-29-2341-3.cachediag"
    assert stat.S_IMODE((home / "sessions").stat().st_mode) == 0o700
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    with Session.create(first) as opened:
        assert len(opened) == 0


def test_a_time_with_a_zone_is_made_local() -> None:
    aware = NOW.astimezone(timezone(timedelta(hours=5)))
    assert new_path(aware).name == "2026-11-29-2341.cachediag"
    assert new_path(NOW.astimezone(UTC)).name == "2026-11-29-2341-2.cachediag"


def test_without_the_variable_the_users_data_directory_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CACHEDIAG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert sessions_dir().parts[-2:] == ("cachediag", "sessions")
    assert sessions_dir().is_relative_to(tmp_path)
    assert recorded() == []
    assert not sessions_dir().exists()


def test_the_last_written_comes_first(home: Path) -> None:
    with pytest.raises(UsageError, match="no session has been recorded yet") as caught:
        newest()
    assert caught.value.remedy == "Record one: cachediag record -- claude"
    old, new, middle = (new_path(NOW) for _ in range(3))
    for path, written in ((old, 100), (new, 300), (middle, 200)):
        session(path, written)
    new_path(NOW)  # reserved, and never recorded to
    (home / "sessions" / "notes.cachediag").write_text("not a session")
    (home / "sessions" / "notes.txt").write_text("not a session")
    assert recorded() == [new, middle, old]
    assert newest() == new


def test_a_session_being_written_is_the_newest() -> None:
    running = new_path(NOW)
    with Session.create(running):
        os.utime(running, (100, 100))
        session(new_path(NOW), 200)
        assert newest() == running


def test_a_session_recorded_elsewhere_is_found_by_its_name(home: Path, tmp_path: Path) -> None:
    elsewhere = session(tmp_path / "mine.cachediag", 100)
    link = register(elsewhere)
    assert link == home / "sessions" / "mine.cachediag"
    assert register(elsewhere) == link
    assert recorded() == [elsewhere]
    assert resolve("mine") == resolve("mine.cachediag") == elsewhere
    elsewhere.unlink()
    assert recorded() == []
    with pytest.raises(UsageError):
        resolve("mine")


def test_two_sessions_of_one_name_get_two_links(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = session(tmp_path / "a" / "s.db", 100)
    second = session(tmp_path / "b" / "s.db", 200)
    assert [register(first).name, register(second).name] == ["s.db.cachediag", "s.db-2.cachediag"]
    assert register(second).name == "s.db-2.cachediag"
    assert resolve("s.db-2") == second
    assert recorded() == [second, first]


def test_a_link_whose_session_is_gone_gives_its_name_away(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    gone = session(tmp_path / "s.cachediag", 100)
    register(gone)
    gone.unlink()
    other = session(tmp_path / "b" / "s.cachediag", 100)
    assert register(other).name == "s.cachediag"
    assert resolve("s") == other


def test_a_recording_in_its_place_needs_no_link(home: Path) -> None:
    path = session(new_path(NOW), 100)
    assert register(path) == path
    assert list((home / "sessions").iterdir()) == [path]


def test_a_file_comes_before_a_recorded_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session(new_path(NOW), 100)
    assert resolve("2026-11-29-2341") == path
    assert resolve(str(path)) == path
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "2026-11-29-2341"
    here.mkdir()
    assert resolve("2026-11-29-2341") == Path("2026-11-29-2341")


@pytest.mark.parametrize("name", ["nothing", "dir/2026-11-29-2341", ""])
def test_what_is_neither_file_nor_name_is_the_users_mistake(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    session(new_path(NOW), 100)
    if not name:
        assert resolve(name) == Path()  # the current directory, as everywhere
        return
    with pytest.raises(UsageError) as caught:
        resolve(name)
    assert str(caught.value) == f"{name}: no such file, and no recorded session of that name"


def test_a_home_that_cannot_be_made_says_so(home: Path) -> None:
    home.write_text("a file")
    with pytest.raises(SessionError, match="cannot be made") as caught:
        new_path(NOW)
    assert "CACHEDIAG_HOME" in (caught.value.remedy or "")


FULL = OSError(errno.ENOSPC, "No space left on device")


def full(*_: object, **__: object) -> NoReturn:
    raise FULL


@pytest.mark.parametrize(
    ("failing", "function"),
    [
        ("os.open", lambda _: new_path(NOW)),
        ("pathlib.Path.symlink_to", register),
        ("tempfile.mkdtemp", lambda _: replacing("demo").__enter__()),
    ],
)
def test_a_full_disk_is_told_with_the_place(
    failing: str,
    function: Callable[[Path], object],
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = session(tmp_path / "mine.cachediag", 100)
    monkeypatch.setattr(failing, full)
    with pytest.raises(SessionError) as caught:
        function(elsewhere)
    assert caught.value.message == "cannot be made (No space left on device)"
    assert (caught.value.where or "").startswith(str(home / "sessions"))


def test_a_session_that_cannot_take_its_place_leaves_the_earlier_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with replacing("demo") as (made, place):
        session(made, 100)
    before = place.read_bytes()
    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(SessionError, match="No space left"), replacing("demo") as (made, _):
        session(made, 100)
    assert place.read_bytes() == before
    assert list((home / "sessions").iterdir()) == [place]
