"""What in a folder is a session, told by content."""

from pathlib import Path

from cachediag.batch.folders import look_through
from tests.batch.material import exchanges, folder_of_bodies, store


def held(folder: Path) -> tuple[list[str], int]:
    found = look_through(folder)
    return [each.relative_to(folder).as_posix() for each in found.sessions], found.passed_over


def test_bodies_of_one_folder_are_one_session(tmp_path: Path) -> None:
    folder_of_bodies(tmp_path)
    (tmp_path / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    assert held(tmp_path) == (["."], 0)


def test_every_folder_below_is_looked_through_the_outer_one_first(tmp_path: Path) -> None:
    store(tmp_path / "b" / "two.cachediag")
    store(tmp_path / "b" / "one.cachediag")
    store(tmp_path / "z.cachediag")
    folder_of_bodies(tmp_path / "a" / "bodies")
    folder_of_bodies(tmp_path / ".hidden")
    store(tmp_path / ".hidden.cachediag")
    (tmp_path / "z.cachediag-wal").touch()
    (tmp_path / "b" / "notes.txt").write_text("Remember the berths.", encoding="utf-8")
    (tmp_path / "b" / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    assert held(tmp_path) == (
        ["z.cachediag", "a/bodies", "b/one.cachediag", "b/two.cachediag"],
        2,
    )


def test_a_name_does_not_matter_where_the_content_tells(tmp_path: Path) -> None:
    store(tmp_path / "kept").rename(tmp_path / "kept.bin")
    lines = b"\n".join(each.request for each in exchanges(1))
    (tmp_path / "log.txt").write_bytes(lines)
    (tmp_path / "capture.txt").write_bytes(b'{"log": {"entries": []}}')
    assert held(tmp_path) == (["capture.txt", "kept.bin", "log.txt"], 0)


def test_what_calls_itself_a_session_is_one_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.cachediag").touch()
    (tmp_path / "cut.mitm").write_bytes(b"\0\0\0")
    (tmp_path / "empty.txt").touch()
    assert held(tmp_path) == (["cut.mitm", "empty.cachediag"], 1)


def test_a_damaged_body_makes_its_folder_a_session_that_fails(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"messages": [')
    assert held(tmp_path) == (["."], 0)


def test_sessions_beside_bodies_are_sessions_of_their_own(tmp_path: Path) -> None:
    folder_of_bodies(tmp_path)
    store(tmp_path / "kept.cachediag")
    assert held(tmp_path) == ([".", "kept.cachediag"], 0)
