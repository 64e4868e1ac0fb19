"""What went on to the server: kept in the session, and shown in place of what the client sent."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.errors import UsageError
from cachediag.model import Exchange
from cachediag.session import Outgoing, Session, Source, sent_on
from cachediag.session.source import numbered
from tests.session.recording_writer import exchange as made


def changed(number: int) -> Exchange:
    """An exchange whose request went on with one word changed."""
    exchange = made(number)
    return replace(exchange, outgoing=exchange.request.replace(b"Rule 7:", b"Line 7:"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.cachediag"


def write(path: Path, *exchanges: Exchange) -> None:
    with Session.create(path) as session:
        for exchange in exchanges:
            session.append(exchange)


def rows(path: Path, statement: str) -> list[tuple]:
    connection = sqlite3.connect(path)
    found = connection.execute(statement).fetchall()
    connection.close()
    return found


def first_format(path: Path) -> None:
    """Make a session what an older release would have written."""
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE exchanges DROP COLUMN outgoing")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


def test_what_went_on_comes_back(path: Path) -> None:
    sent = [changed(0), made(1), replace(made(2), outgoing=b""), replace(made(3), request=b"")]
    sent[3] = replace(sent[3], outgoing=b"{}")
    write(path, *sent)
    with Session.open(path) as session:
        got = list(session.exchanges())
        infos = list(session.infos())
    assert [(each.request, each.outgoing) for each in got] == [
        (each.request, each.outgoing) for each in sent
    ]
    assert infos == [each.info for each in got]
    sizes = [len(changed(0).outgoing or b""), None, 0, 2]
    assert [info.outgoing_size for info in infos] == sizes


def test_it_is_stored_as_its_difference_from_the_request(path: Path) -> None:
    write(path, *(changed(number) for number in range(150)))
    other = path.with_name("b.cachediag")
    write(other, *(made(number) for number in range(150)))
    outgoing = rows(
        path,
        "SELECT o.base IS r.id, o.base IS r.base, r.depth, o.depth, length(o.data) FROM exchanges"
        " JOIN bodies r ON r.id = request JOIN bodies o ON o.id = outgoing",
    )
    assert len(outgoing) == 150
    for of_request, of_its_base, request_depth, depth, size in outgoing:
        assert (of_request, of_its_base) == ((1, 0) if request_depth < 31 else (0, 1))
        assert depth == min(request_depth + 1, 31)
        assert size < (150 if of_request else 1000)
    assert max(depth for *_, depth, _ in outgoing) == 31
    # The requests are encoded as if nothing had been changed.
    bases = "SELECT r.sha256, b.sha256 FROM exchanges JOIN bodies r ON r.id = request LEFT JOIN"
    bases += " bodies b ON b.id = r.base ORDER BY number"
    assert rows(path, bases) == rows(other, bases)
    assert path.stat().st_size - other.stat().st_size < 0.01 * sum(
        len(made(number).request) for number in range(150)
    )


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(
        st.tuples(st.binary(max_size=80), st.none() | st.binary(max_size=80)),
        max_size=6,
    ),
    st.booleans(),
)
def test_any_bodies_come_back(
    tmp_path: Path, pairs: list[tuple[bytes, bytes | None]], compacted: bool
) -> None:
    path = tmp_path / "any.cachediag"
    path.unlink(missing_ok=True)
    write(path, *(replace(made(0), request=sent, outgoing=out) for sent, out in pairs))
    with Session.open(path) as session:
        if compacted:
            session.compact()
        assert [(each.request, each.outgoing) for each in session.exchanges()] == pairs


def test_a_session_of_the_first_format_is_read_and_left_as_it_is(path: Path) -> None:
    write(path, made(0), made(1))
    first_format(path)
    before = path.read_bytes()
    with Session.open(path) as session:
        got = list(session.exchanges())
        assert session.info(1).outgoing_size is None
    assert [(each.request, each.outgoing) for each in got] == [
        (made(0).request, None),
        (made(1).request, None),
    ]
    assert path.read_bytes() == before


def test_appending_to_a_session_of_the_first_format_raises_its_version(path: Path) -> None:
    write(path, made(0))
    first_format(path)
    with Session.open(path) as reader:
        assert len(list(reader.exchanges())) == 1
        write(path, changed(1))
        # One that has it open sees what was added.
        assert [each.outgoing for each in reader.exchanges()] == [None, changed(1).outgoing]
    assert rows(path, "PRAGMA user_version") == [(2,)]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_recorder_of_the_first_format_goes_on(path: Path) -> None:
    write(path, made(0))
    first_format(path)
    older = sqlite3.connect(path, isolation_level=None)
    insert = (
        "INSERT INTO exchanges (number, endpoint, method, path, headers, response_headers, notes,"
        " request) VALUES (?, 'messages', 'POST', '/v1/messages', '{}', '{}', '[]', 1)"
    )
    older.execute(insert, (1,))
    write(path, changed(2))
    older.execute(insert, (3,))
    older.close()
    with Session.open(path) as session:
        assert [each.outgoing for each in session.exchanges()] == [
            None,
            None,
            changed(2).outgoing,
            None,
        ]


def of_a_session(path: Path) -> Source:
    write(path, changed(0), made(1))
    return Session.open(path)


def of_memory(path: Path) -> Source:
    return numbered("a", [changed(0), made(1)])


@pytest.mark.parametrize("opened", [of_a_session, of_memory])
def test_a_source_is_seen_as_the_server_saw_it(
    path: Path, opened: Callable[[Path], Source]
) -> None:
    source = opened(path)
    outgoing: Source = Outgoing(source)
    first, second = outgoing.exchanges()
    assert first.request == first.outgoing == changed(0).outgoing
    assert first.info.request_size == len(first.request)
    assert second == source.exchange(1)
    assert list(outgoing.infos()) == [first.info, second.info]
    assert outgoing.exchange(0) == first
    assert (outgoing.name, list(outgoing.notes)) == ("a", [])
    assert Outgoing(source).changed == 1
    assert source.exchange(0).request == changed(0).request
    with pytest.raises(UsageError, match="no request 2"):
        outgoing.exchange(2)
    if isinstance(source, Session):
        source.close()


def test_an_exchange_that_went_on_as_it_came_is_the_same() -> None:
    exchange = made(0)
    assert sent_on(exchange) is exchange
