"""Rules applied to a session that is there."""

from dataclasses import replace
from pathlib import Path

import pytest

from cachediag.errors import SessionError, UsageError
from cachediag.fix.offline import applied, write
from cachediag.fix.tally import RuleCount, Tally
from cachediag.model import Exchange, ExchangeInfo, Usage
from cachediag.session import MemorySource, Session
from cachediag.session.source import numbered

from .material import DROP, RULES, body, header


def exchange(request: bytes, path: str = "/v1/messages", endpoint: str = "messages") -> Exchange:
    info = ExchangeInfo(
        endpoint=endpoint,  # type: ignore[arg-type]
        path=path,
        started=1.5,
        usage=Usage(input_tokens=3),
        headers={"user-agent": "x"},
        notes=("told",),
    )
    return Exchange(info, request, b"answer")


SENT = [
    exchange(body(0)),
    exchange(body(1), "/v1/messages/count_tokens", "count_tokens"),
    exchange(b'{"cut off', "/v1/messages"),
    exchange(body(2), "/v1/chat/completions", "chat"),
    exchange(b"", "/", "other"),
    replace(exchange(body(3)), outgoing=b"{}"),
]


@pytest.fixture
def source() -> MemorySource:
    return numbered("clocks", SENT)


def test_requests_are_as_the_rules_make_them_and_all_else_is_kept(source: MemorySource) -> None:
    tally, told = Tally(RULES.enabled), list[str]()
    made = list(applied(source, RULES.enabled, tally, told.append))
    assert [each.request for each in made] == [
        body(0, stripped=True),
        body(1, stripped=True),
        b'{"cut off',
        body(2),
        b"",
        body(3, stripped=True),
    ]
    assert [each.outgoing for each in made] == [None] * 6
    assert [(each.info, each.response) for each in made] == [
        (each.info, each.response) for each in source.exchanges()
    ]
    size = len(header(0)["text"]) + len('{"type": "text", "text": ""}')
    assert tally.rules == (RuleCount(DROP.id, 3, 3 * size), RuleCount("sort-tools", 0, 0))
    assert (tally.requests, tally.changed) == (4, 3)
    assert len(told) == 1
    assert told[0].startswith("request 2 stays as it was: JSON ends too early")


def test_the_new_session_holds_them(source: MemorySource, tmp_path: Path) -> None:
    path = tmp_path / "fixed.cachediag"
    made = applied(source, RULES.enabled, Tally(), lambda _: None)
    write(path, made, {"upstream": "http://x"})
    with Session.open(path) as session:
        first = session.exchange(0)
        assert len(session) == 6
        assert session.meta["upstream"] == "http://x"
    assert first.request == body(0, stripped=True)
    assert first.info.request_size == len(first.request)
    assert (first.info.usage, first.info.notes) == (Usage(input_tokens=3), ("told",))


def test_what_is_there_is_not_overwritten(source: MemorySource, tmp_path: Path) -> None:
    path = tmp_path / "there.cachediag"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write(path, source.exchanges(), {})
    assert path.read_text() == "mine"


def test_of_a_session_that_cannot_be_read_nothing_is_left(tmp_path: Path) -> None:
    def broken():
        yield SENT[0]
        raise SessionError("damaged")

    with pytest.raises(SessionError):
        write(tmp_path / "new.cachediag", broken(), {})
    assert list(tmp_path.iterdir()) == []
