"""Session files that were cut, flipped, or written by somebody else: told, not believed."""

import hashlib
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.errors import SessionError
from cachediag.model import Exchange, ExchangeInfo, Usage
from cachediag.session import Session
from cachediag.session.bodies import _LONGEST_CHAIN, Bodies

INFO = ExchangeInfo(
    endpoint="messages",
    path="/v1/messages",
    started=1.0,
    status=200,
    usage=Usage(1, 2, 3, 4),
    headers={"user-agent": "made-up"},
    notes=("a note",),
)
ENDLESS = """
DROP TABLE exchanges;
CREATE VIEW exchanges AS WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c)
SELECT n number, 'messages' endpoint, 'POST' method, '/' path, 1 started, 1 first_byte,
1 first_token, 1 ended, 200 status, 'm' model, 'm' response_model, NULL usage, '{}' headers,
'{}' response_headers, '[]' notes, NULL error, NULL request, NULL response, NULL outgoing FROM c;
"""


def recorded(path: Path, bodies: tuple[bytes, ...] = (b"one" * 500, b"one" * 499 + b"two")) -> Path:
    with Session.create(path / "a.cachediag") as session:
        for body in bodies:
            session.append(Exchange(INFO, body, b"said: " + body))
    return path / "a.cachediag"


def changed(path: Path, script: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        if values:
            connection.execute(script, values)
        else:
            connection.executescript(script)


def read(path: Path) -> list[Exchange]:
    with Session.open(path) as session:
        assert session.meta is not None
        session.recorders()
        assert len(list(session.infos())) == len(session)
        return list(session.exchanges())


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(st.binary(max_size=300), st.binary(max_size=300)), max_size=4))
def test_what_was_written_is_read_back(tmp_path, bodies):
    path = tmp_path / f"{time.monotonic_ns()}.cachediag"
    with Session.create(path) as session:
        for request, response in bodies:
            session.append(Exchange(INFO, request, response, outgoing=response or None))
    assert [(each.request, each.response) for each in read(path)] == bodies
    assert [each.outgoing or b"" for each in read(path)] == [response for _, response in bodies]


def test_a_cut_or_a_flipped_bit_never_shows_as_another_body(tmp_path):
    path = recorded(tmp_path)
    whole = path.read_bytes()
    true = {(each.request, each.response) for each in read(path)}
    damaged = [whole[:size] for size in range(1, len(whole), 1 + len(whole) // 60)]
    for bit in range(0, 8 * len(whole), 1 + len(whole) // 40):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    for content in damaged:
        path.write_bytes(content)
        try:
            found = read(path)
        except SessionError:
            continue
        assert {(each.request, each.response) for each in found} <= true


_DEEP = "[" * 100_000
_HOSTILE = [
    ("endpoint", "elsewhere"),
    ("method", b"\xff"),
    ("started", "yesterday"),
    ("ended", b""),
    ("status", "fine"),
    ("status", 1.5),
    ("model", b"\xff"),
    ("usage", '{"input_tokens": -5}'),
    ("usage", '{"input_tokens": "many"}'),
    ("usage", '{"input_tokens": 1e999}'),
    ("usage", '{"other": 1}'),
    ("usage", "[1, 2]"),
    *((name, _DEEP) for name in ("usage", "headers", "response_headers", "notes")),
    ("headers", '{"a": 5}'),
    ("headers", '["a"]'),
    ("notes", "[5]"),
    ("notes", '"note"'),
    ("notes", "9" * 5_000),
    ("number", -1),
    ("number", 2**40),
    ("number", 2**63 - 1),
    ("request", -1),
    ("request", 99),
    ("request", "one"),
]


@pytest.mark.parametrize(("column", "value"), _HOSTILE)
def test_a_row_that_no_recorder_wrote_is_damage(tmp_path, column, value):
    path = recorded(tmp_path)
    changed(path, f"UPDATE exchanges SET {column} = ? WHERE number = 1", value)
    with pytest.raises(SessionError) as caught:
        read(path)
    assert caught.value.where == str(path)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("size", [0, -1, 7, 2**40, 2**63 - 1, 1.5, "1", None])
@pytest.mark.parametrize("column", ["size", "base", "data"])
def test_a_body_that_no_recorder_wrote_is_damage(tmp_path, column, size):
    path = recorded(tmp_path)
    try:
        changed(path, f"UPDATE bodies SET {column} = ? WHERE id = 1", size)
    except sqlite3.IntegrityError:
        assert size is None
        return
    if (column, size) == ("base", None):
        assert len(read(path)) == 2
        return
    with pytest.raises(SessionError):
        read(path)


@pytest.mark.parametrize(
    "script",
    [
        ENDLESS,
        "CREATE TRIGGER t AFTER INSERT ON exchanges BEGIN DELETE FROM exchanges; END;",
        "ALTER TABLE bodies ADD COLUMN big AS (zeroblob(1000000000));",
        "CREATE VIRTUAL TABLE words USING fts5(text);",
    ],
)
def test_a_database_with_queries_in_it_is_no_session(tmp_path, script):
    path = recorded(tmp_path)
    changed(path, script)
    for open_it in (Session.open, Session.create):
        with pytest.raises(SessionError, match="more than a session's tables"):
            open_it(path)


def test_deltas_in_a_row_without_end_are_damage(tmp_path, monkeypatch):
    path = recorded(tmp_path)
    frame, digest = zstandard.compress(b"a"), hashlib.sha256(b"a").digest()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO bodies VALUES (?, ?, 1, ?, 0, ?)",
            ((n, digest + b"%d" % n, n - 1, frame) for n in range(10, 50_000)),
        )
        connection.execute("UPDATE exchanges SET request = 49999")
    rows, row = list[int](), Bodies._row

    def counted(self, at):
        rows.append(at)
        return row(self, at)

    monkeypatch.setattr(Bodies, "_row", counted)
    with pytest.raises(SessionError, match="against too many others"):
        read(path)
    assert rows[-_LONGEST_CHAIN - 2 :] == list(range(49_999, 49_999 - _LONGEST_CHAIN - 2, -1))


def test_a_frame_is_not_unpacked_beyond_its_size(tmp_path):
    path = recorded(tmp_path)
    bomb = zstandard.compress(b"\0" * (1 << 26))
    changed(path, "UPDATE bodies SET data = ?", bomb)
    with pytest.raises(SessionError, match="another size than recorded"):
        read(path)
