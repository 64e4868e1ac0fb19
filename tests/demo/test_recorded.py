"""The demo's session: through the real proxy, into a real file, beside the user's own."""

import os
import stat
from pathlib import Path

import pytest

from cachediag.analysis import Request, requests
from cachediag.demo.recorded import record
from cachediag.errors import SessionError
from cachediag.model import Exchange
from cachediag.session import Session, library


def ignore(_: str) -> None:
    pass


def analysed(path: Path) -> tuple[Request, ...]:
    with Session.open(path) as session:
        return tuple(requests(session.exchanges(), session.exchange))


def test_what_is_stored_is_what_the_server_received(home: Path) -> None:
    told: list[str] = []
    recorded = record(told.append)
    assert recorded.path == home / "sessions" / "demo.cachediag"
    assert stat.S_IMODE(recorded.path.stat().st_mode) == 0o600
    assert told == [f"recording 11 requests to {recorded.path.name}"]
    with Session.open(recorded.path) as session:
        stored = list(session.exchanges())
        assert session.meta["client"] == "made up"
    assert tuple(exchange.request for exchange in stored) == recorded.received
    assert {exchange.info.path for exchange in stored} == {"/v1/messages?beta=true"}
    assert {exchange.info.status for exchange in stored} == {200}
    assert all(exchange.response.endswith(b'{"type":"message_stop"}\n\n') for exchange in stored)
    assert [exchange.info.notes for exchange in stored] == [()] * 11


def test_lanes_are_told_apart_and_only_the_header_breaks_them(home: Path) -> None:
    found = analysed(record(ignore).path)
    lanes = [(request.lane, request.kind) for request in found]
    main, title, agent = ("main", "turn"), ("title", "auxiliary"), ("agent", "subagent")
    assert lanes == [main, title, main, main, *[agent] * 3, *[main] * 4]
    assert [request.parent for request in found if request.lane == "main"][1:] == [0, 2, 3, 7, 8, 9]
    assert [request.parent for request in found if request.lane == "agent"][1:] == [4, 5]
    breaks = [[(each.code, each.path) for each in request.breaks] for request in found]
    header = [("V01", "system[0].text")]
    assert breaks == [[], [], header, header, [], header, header, header, header, header, header]
    for request in found:
        assert {each.code for each in request.findings} <= {"V01", "N01", "N03", "M01", "E03"}
        if request.breaks:
            assert request.comparison is not None
            assert request.comparison.reusable_blocks == request.comparison.a.block_count


def test_the_next_demo_takes_its_place(home: Path) -> None:
    first = record(ignore)
    log = first.path.with_name("demo.cachediag-wal")
    log.write_bytes(b"left by a kill")
    os.utime(log, (0, 0))
    second = record(ignore)
    assert second.path == first.path
    assert [entry.name for entry in first.path.parent.iterdir()] == ["demo.cachediag"]
    assert len(analysed(second.path)) == 11


def test_the_users_own_recording_stays_the_newest(home: Path) -> None:
    own = home / "sessions" / "2026-01-02-0304.cachediag"
    own.parent.mkdir(parents=True)
    Session.create(own).close()
    demo = record(ignore).path
    assert library.newest() == own
    assert library.recorded() == [own, demo]
    assert library.resolve("demo") == demo


def test_a_session_of_the_users_keeps_the_name(home: Path, tmp_path: Path) -> None:
    own = tmp_path / "demo.cachediag"
    Session.create(own).close()
    link = library.register(own)
    first, second = record(ignore).path, record(ignore).path
    assert first == second == home / "sessions" / "demo-2.cachediag"
    assert link.is_symlink()
    assert link.resolve() == own
    assert len(analysed(first)) == 11


def test_a_demo_that_fails_leaves_the_earlier_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = record(ignore).path
    before = path.read_bytes()

    def full(_session: Session, _exchange: Exchange) -> int:
        raise OSError(28, "No space left on device")

    told: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(Session, "append", full)
        with pytest.raises(SessionError, match="only 0 of the demo's 11 requests") as raised:
            record(told.append)
    assert raised.value.where == str(path)
    assert any("No space left on device" in line for line in told)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_home_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(SessionError, match="cannot be made") as raised:
        record(ignore)
    assert raised.value.remedy == "Set CACHEDIAG_HOME to a directory that can be written"
