import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.capture.importers import open_source
from cachediag.errors import SessionError, UsageError
from cachediag.model import Exchange, ExchangeInfo, Usage
from cachediag.session import Session, Source, delta, recorded
from cachediag.session.schema import check_header, read_header
from tests.session.recording_writer import exchange as made

if TYPE_CHECKING:
    import subprocess

Start = Callable[[Path, int, int], "subprocess.Popen[str]"]

FULL = Exchange(
    ExchangeInfo(
        endpoint="messages",
        method="POST",
        path="/v1/messages?beta=true",
        started=1.5,
        first_byte=2.25,
        first_token=2.5,
        ended=3.0,
        status=200,
        model="asked",
        response_model="got",
        usage=Usage(input_tokens=7, cache_read=0, output_tokens=3),
        headers={"user-agent": "é\udcff"},
        response_headers={"content-type": "text/event-stream"},
        notes=("one", "two"),
        error="client gone",
    ),
    b'{"model":"asked","messages":[]}',
    b"data: {}\n\n",
)


def minimal(request: bytes, response: bytes = b"") -> Exchange:
    return Exchange(ExchangeInfo(endpoint="messages", path="/v1/messages"), request, response)


def stored(exchange: Exchange, index: int) -> Exchange:
    info = replace(
        exchange.info,
        index=index,
        request_size=len(exchange.request),
        response_size=len(exchange.response),
        outgoing_size=None if exchange.outgoing is None else len(exchange.outgoing),
    )
    return replace(exchange, info=info)


def bodies(session: Session) -> list[tuple[bytes, bytes]]:
    return [(e.request, e.response) for e in session.exchanges()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a b?%#é.cachediag"


def test_everything_of_an_exchange_comes_back(path: Path) -> None:
    bare = minimal(b"")
    with Session.create(path, meta={"upstream": "http://x"}) as session:
        assert session.append(FULL) == 0
        assert session.append(bare) == 1
        assert len(session) == 2
    with Session.open(path) as session:
        source: Source = session
        assert list(source.exchanges()) == [stored(FULL, 0), stored(bare, 1)]
        assert session.exchange(1) == stored(bare, 1)
        assert list(session.infos()) == [stored(FULL, 0).info, stored(bare, 1).info]
        assert session.info(0) == stored(FULL, 0).info
        assert (session.name, session.path, len(session)) == ("a b?%#é", path, 2)
        assert session.meta["upstream"] == "http://x"
        assert list(session.exchanges(start=1)) == [stored(bare, 1)]


def test_text_that_is_no_text_is_stored_as_escapes(path: Path) -> None:
    info = ExchangeInfo(endpoint="other", path="/\udcff", error="\ud800", model="m\0m")
    with Session.create(path, meta={"\ud800": "\udcff"}) as session:
        session.append(Exchange(info, b""))
        got = session.info(0)
        assert session.meta["\\ud800"] == "\\udcff"
    assert (got.path, got.error, got.model) == ("/\\udcff", "\\ud800", "m\0m")


@pytest.mark.parametrize("index", [-1, 2])
def test_a_number_that_is_not_there_is_the_users_mistake(path: Path, index: int) -> None:
    with Session.create(path) as session:
        session.append(FULL)
        session.append(FULL)
        with pytest.raises(UsageError, match=rf"no request {index}: it holds 2, .* 0 to 1"):
            session.exchange(index)
        with pytest.raises(UsageError):
            session.info(index)


def test_files_are_for_the_user_only(path: Path) -> None:
    old = os.umask(0)
    try:
        with Session.create(path) as session:
            session.append(FULL)
            names = [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]
            assert [stat.S_IMODE(name.stat().st_mode) for name in names] == [0o600] * 3
    finally:
        os.umask(old)
    assert list(path.parent.iterdir()) == [path]


def test_an_existing_session_is_continued(path: Path) -> None:
    with Session.create(path, meta={"upstream": "first"}) as session:
        session.append(made(0))
    with Session.create(path, meta={"upstream": "second", "client": "c"}) as session:
        assert session.append(made(1)) == 1
        assert session.meta["upstream"] == "first"
        assert session.meta["client"] == "c"
    with Session.open(path) as session:
        assert list(session.exchanges()) == [stored(made(0), 0), stored(made(1), 1)]
    with sqlite3.connect(path) as raw:
        # The second request found its base in what the file already held.
        assert raw.execute("SELECT base FROM bodies WHERE id = 3").fetchone() == (1,)
    raw.close()


def test_a_file_of_no_bytes_becomes_a_session(path: Path) -> None:
    path.touch()
    with Session.create(path) as session:
        assert session.append(FULL) == 0


def test_a_body_that_could_not_be_read_back_is_not_taken(path: Path, monkeypatch) -> None:
    monkeypatch.setattr(delta, "MAX_BODY", 1 << 20)
    with Session.create(path) as session:
        largest = bytes(1 << 20)
        session.append(minimal(largest, largest))
        for large in (minimal(largest + b"x"), replace(minimal(b"{}"), outgoing=largest + b"x")):
            with pytest.raises(SessionError) as caught:
                session.append(large)
            assert caught.value.message == "a body of 1 MiB, where a session holds 1 MiB at most"
        assert bodies(session) == [(largest, largest)]


def test_a_body_that_would_unpack_to_gigabytes_is_not_unpacked(path: Path) -> None:
    size = 2 << 30
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj(size=size)
    frame = packer.compress(bytes(16 << 20)) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    with Session.create(path) as session:
        session.append(minimal(b"{}"))
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE bodies SET size = ?, data = ?", (size, frame))
    tracemalloc.start()
    with Session.open(path) as session, pytest.raises(SessionError) as caught:
        session.exchange(0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.message == (
        "the session is damaged"
        f" (exchange 0: body 1: it would have {size} bytes, where {256 << 20} are the most)"
    )
    assert most < 16 << 20


def test_a_session_open_to_be_read_takes_nothing(path: Path) -> None:
    Session.create(path).close()
    with Session.open(path) as session, pytest.raises(SessionError, match="read only"):
        session.append(FULL)


def foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()


def newer_session(path: Path) -> None:
    Session.create(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 3")
    connection.close()


@pytest.mark.parametrize(
    ("make", "message", "remedy"),
    [
        (lambda path: path.write_bytes(b"notes\n"), "not a session file", "cachediag import"),
        (foreign_database, "an SQLite database, but not a session", "cachediag import"),
        (
            newer_session,
            "session of format 3, newer than 2, the newest that can be read here",
            "pip install --upgrade cachediag",
        ),
    ],
)
def test_what_is_no_session_is_refused_and_left_alone(
    path: Path, make: Callable[[Path], object], message: str, remedy: str
) -> None:
    make(path)
    before = path.read_bytes()
    for opened in (Session.open, Session.create):
        with pytest.raises(SessionError) as caught:
            opened(path)
        assert str(caught.value) == f"{path}: {message}"
        assert remedy in (caught.value.remedy or "")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_opened_says_why(path: Path) -> None:
    with pytest.raises(SessionError, match="No such file"):
        Session.open(path)
    with pytest.raises(SessionError, match="cannot be created"):
        Session.create(path / "x.cachediag")
    path.touch()
    with pytest.raises(SessionError, match="the file is empty"):
        Session.open(path)


def test_bodies_stay_small(path: Path) -> None:
    exchanges = [made(number) for number in range(150)]
    raw = sum(len(e.request) for e in exchanges)
    with Session.create(path) as session:
        for exchange in exchanges:
            session.append(exchange)
    assert path.stat().st_size < 0.08 * raw
    with sqlite3.connect(path) as connection:
        (deepest,) = connection.execute("SELECT MAX(depth) FROM bodies").fetchone()
        full = connection.execute(
            "SELECT COUNT(*) FROM bodies WHERE id IN (SELECT request FROM exchanges) AND depth = 0"
        ).fetchone()[0]
    connection.close()
    assert deepest == 31
    # Each lane begins with one, and the main one of 120 begins anew every 32.
    assert 4 <= full <= 7
    with Session.open(path) as session:
        assert bodies(session) == [(e.request, e.response) for e in exchanges]
        assert session.exchange(149).request == exchanges[149].request


def test_a_long_session_takes_a_few_per_cent_and_each_body_is_unpacked_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    words = [chance.randbytes(chance.randint(1, 4)).hex() for _ in range(3000)]

    def text(count: int) -> str:
        return " ".join(chance.choices(words, k=count))

    tools = [{"name": f"tool{n}", "description": text(250)} for n in range(20)]
    messages: list[dict[str, str]] = []
    requests = []
    for _ in range(300):
        messages += [
            {"role": "user", "content": text(155)},
            {"role": "assistant", "content": text(35)},
        ]
        requests.append(json.dumps({"messages": messages, "tools": tools}).encode())
    raw = sum(map(len, requests))
    assert 385_000 < len(requests[-1]) < 450_000
    with Session.create(path) as session:
        for request in requests:
            session.append(minimal(request))
    assert path.stat().st_size < 0.03 * raw
    decoded = list[int]()

    def counted(data: bytes, size: int, base: bytes | None) -> bytes:
        decoded.append(size)
        return delta.decode(data, size, base)

    monkeypatch.setattr("cachediag.session.bodies.decode", counted)
    with Session.open(path) as session:
        got = [exchange.request for exchange in session.exchanges()]
    assert got == requests
    # Each body is unpacked once, however long the row of deltas before it.
    assert decoded == [len(request) for request in requests]


def test_equal_bodies_are_stored_once(path: Path) -> None:
    with Session.create(path) as session:
        session.append(minimal(b"same", b"same"))
        session.append(minimal(b"same", b""))
        assert bodies(session) == [(b"same", b"same"), (b"same", b"")]
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT COUNT(*) FROM bodies").fetchone() == (1,)
    connection.close()


pieces = st.binary(max_size=60) | st.sampled_from([b'"', b'"' + b"long piece " * 9 + b'"', b""])
any_body = st.lists(pieces, max_size=6).map(b"".join)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(any_body, any_body), max_size=8), st.integers(0, 8), st.booleans())
def test_any_bodies_come_back(
    tmp_path: Path, pairs: list[tuple[bytes, bytes]], reopened_at: int, compacted: bool
) -> None:
    path = tmp_path / f"{time.monotonic_ns()}.cachediag"
    for part in (pairs[:reopened_at], pairs[reopened_at:]):
        with Session.create(path) as session:
            for request, response in part:
                session.append(minimal(request, response))
    with Session.open(path) as session:
        if compacted:
            session.compact()
        assert bodies(session) == pairs


def test_a_kill_loses_at_most_the_exchange_in_flight(path: Path, start_writer: Start) -> None:
    chance = random.Random(20)
    for _ in range(20):
        first = 0
        if path.exists() and path.stat().st_size:
            with Session.open(path) as session:
                first = len(session)
        process = start_writer(path, first, 10_000)
        assert process.stdout is not None
        # Some kills come while the file is being made or opened.
        if chance.random() < 0.7:
            process.stdout.readline()
        time.sleep(chance.random() * 0.15)
        process.send_signal(signal.SIGKILL)
        said = process.stdout.read().split("\n")
        complete = [line.split() for line in said[:-1]]
        reported = max((int(index) + 1 for index, _ in complete), default=first)
        process.wait()
        if not path.exists() or not path.stat().st_size:
            assert not complete
            continue
        with Session.open(path) as session:
            assert reported <= len(session) <= max(reported, first + 1) + 1
            assert list(session.exchanges()) == [
                stored(made(number), number) for number in range(len(session))
            ]
            check = session._connection.execute("PRAGMA integrity_check").fetchall()
            assert check == [("ok",)]
            assert session.recorders() == []
    with Session.open(path) as session:
        assert len(session) > 20


def test_a_kill_while_the_log_is_merged_loses_nothing(path: Path) -> None:
    with Session.create(path) as session:
        for number in range(40):
            session.append(made(number))
        log = path.with_name(path.name + "-wal")
        halfway, merged = path.with_name("halfway.cachediag"), path.with_name("merged.cachediag")
        for copy in (halfway, merged):
            shutil.copy(path, copy)
            shutil.copy(log, copy.with_name(copy.name + "-wal"))
    with sqlite3.connect(merged) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    # Pages are merged in order: the first one tells of pages that are not there yet.
    with halfway.open("r+b") as file, merged.open("rb") as whole:
        file.write(whole.read(4096))
    assert halfway.stat().st_size < merged.stat().st_size
    with Session.open(halfway) as session:
        assert list(session.exchanges()) == [stored(made(number), number) for number in range(40)]
    with halfway.open("r+b") as file:
        file.truncate(4096)
    with pytest.raises(SessionError, match="damaged or cut off"):
        Session.open(halfway)


def test_reading_does_not_make_a_killed_session_the_newest(path: Path, start_writer: Start) -> None:
    process = start_writer(path, 0, 10_000)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.wait()
    log = path.with_name(path.name + "-wal")
    assert log.stat().st_size
    os.utime(path, (1000, 1000))
    os.utime(log, (2000, 2000))
    with Session.open(path) as session:
        assert session.exchange(0) == stored(made(0), 0)
    assert path.stat().st_mtime == 2000
    assert list(path.parent.iterdir()) == [path]


def test_two_processes_append_to_one_file(path: Path, start_writer: Start) -> None:
    firsts = (0, 1000, 2000)
    processes = [start_writer(path, first, 40) for first in firsts]
    said = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    places = [tuple(map(int, line.split())) for text in said for line in text.splitlines()]
    assert sorted(index for index, _ in places) == list(range(120))
    with Session.open(path) as session:
        got = list(session.exchanges())
    assert got == [stored(made(number), index) for index, number in sorted(places)]


@pytest.mark.parametrize(
    "look",
    [
        read_header,
        check_header,
        lambda path: Session.open(path).close(),
        lambda path: Session.create(path).close(),
        lambda path: open_source(path).close(),  # type: ignore[attr-defined]
        lambda path: open_source(path.parent),
        lambda path: recorded(),
    ],
)
def test_looking_at_a_session_does_not_give_up_its_locks(
    tmp_path: Path,
    start_writer: Start,
    monkeypatch: pytest.MonkeyPatch,
    look: Callable[[Path], object],
) -> None:
    # Closing any descriptor of a file drops all locks that a process holds on it; another
    # process that closes the session then takes itself for the last one and removes the log.
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    path = tmp_path / "sessions" / "a.cachediag"
    path.parent.mkdir()
    (path.parent / "body.json").write_bytes(made(0).request)
    log = path.with_name(path.name + "-wal")
    with Session.create(path) as session:
        session.append(made(0))
        look(path)
        before = log.stat().st_ino
        assert start_writer(path, 1, 1).wait() == 0
        assert log.stat().st_ino == before
        assert session.append(made(2)) == 2


def test_another_live_recorder_is_known_and_a_dead_one_forgotten(
    path: Path, start_writer: Start
) -> None:
    process = start_writer(path, 0, 100_000)
    assert process.stdout is not None
    process.stdout.readline()
    with Session.create(path) as session:
        (other,) = session.recorders()
        assert other.pid == process.pid
        assert 0 <= time.time() - other.started < 60
        with Session.open(path) as reader:
            assert {r.pid for r in reader.recorders()} == {process.pid, os.getpid()}
    process.kill()
    process.wait()
    with Session.create(path) as session:
        assert session.recorders() == []
        rows = session._connection.execute("SELECT COUNT(*) FROM recorders").fetchone()
        assert rows == (1,)
    with Session.open(path) as session:
        assert session.recorders() == []


def test_a_recorder_on_another_machine_is_not_taken_for_a_local_one(path: Path) -> None:
    with Session.create(path) as session:
        session._connection.execute(
            "INSERT INTO recorders (host, pid, started) VALUES ('elsewhere', ?, 0)",
            (os.getppid(),),
        )
        assert session.recorders() == []


def test_a_second_process_follows_along(path: Path, start_writer: Start) -> None:
    Session.create(path).close()
    process = start_writer(path, 0, 120)
    with Session.open(path) as session:
        followed = session.follow(start=10, poll=0.01, stop=lambda: process.poll() is not None)
        first = next(followed)
        running = process.poll() is None
        got = [first, *followed]
    assert running
    assert process.returncode == 0
    assert got == [stored(made(number), number) for number in range(10, 120)]


def test_a_reader_sees_what_another_thread_stores_meanwhile(path: Path) -> None:
    with Session.create(path) as writer:
        writer.append(made(0))
        with Session.open(path) as reader:
            reading = reader.exchanges()
            assert next(reading) == stored(made(0), 0)
            thread = threading.Thread(target=writer.append, args=(made(1),))
            thread.start()
            thread.join()
            assert len(reader) == 2
            assert reader.exchange(1) == stored(made(1), 1)


def append_until_full(session: Session) -> tuple[int, SessionError]:
    for count in range(len(session), 1000):
        try:
            session.append(minimal(random.Random(count).randbytes(9000)))
        except SessionError as error:
            return count, error
    raise AssertionError("the disk never got full")


def test_a_full_disk_loses_only_what_does_not_fit(path: Path) -> None:
    with Session.create(path) as session:
        session.append(made(0))
        session._connection.execute("PRAGMA max_page_count = 20")
        count, error = append_until_full(session)
        assert "the disk is full" in str(error)
        assert "space" in (error.remedy or "")
        assert len(session) == count
        assert session.exchange(0) == stored(made(0), 0)
        session._connection.execute("PRAGMA max_page_count = 100000")
        assert session.append(made(1)) == count
        assert session.exchange(count) == stored(made(1), count)


def test_a_really_full_disk_too(small_disk: Path) -> None:
    path = small_disk / "a.cachediag"
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 500_000)
    with Session.create(path) as session:
        count, error = append_until_full(session)
        assert "the disk is full" in str(error)
        assert count > 5
        with pytest.raises(SessionError, match="the disk is full"):
            session.append(minimal(b"y" * 9000 + random.Random(-1).randbytes(90_000)))
        assert len(session) == count
        with Session.open(path) as reader:
            assert [e.request for e in reader.exchanges()] == [
                random.Random(number).randbytes(9000) for number in range(count)
            ]
        ballast.unlink()
        assert session.append(made(1)) == count
    with Session.open(path) as session:
        assert session.exchange(count) == stored(made(1), count)


@pytest.mark.parametrize("kept", [(), ("-wal", "-shm"), ("-wal",)])
def test_a_session_is_read_where_nothing_can_be_written(
    closing: tuple[Path, Callable[[], object]],
    tmp_path: Path,
    start_writer: Start,
    kept: tuple[str, ...],
) -> None:
    directory, close = closing
    path = tmp_path / "killed.cachediag"
    process = start_writer(path, 0, 100_000)
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    process.kill()
    process.wait()
    if not kept:
        with Session.open(path):
            pass
    for end in ("", *kept):
        (directory / f"a.cachediag{end}").write_bytes(path.with_name(path.name + end).read_bytes())
    close()
    with Session.open(directory / "a.cachediag") as session:
        assert len(session) >= 3
        assert [e.request for e in session.exchanges()] == [
            made(number).request for number in range(len(session))
        ]


def test_a_file_that_may_only_be_read_is_read(path: Path) -> None:
    with Session.create(path) as session:
        session.append(FULL)
    path.chmod(0o400)
    with Session.open(path) as session:
        assert session.exchange(0) == stored(FULL, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE bodies SET data = zeroblob(40) WHERE id = 1", "exchange 0: body 1: "),
        ("UPDATE bodies SET size = size + 1 WHERE id = 1", "exchange 0: body 1: the frame is of"),
        (
            "UPDATE bodies SET base = 3 WHERE id = 1",
            "exchange 0: body 1 is encoded against a later",
        ),
        ("UPDATE bodies SET sha256 = zeroblob(32) WHERE id = 1", "body 1 has another checksum"),
        ("UPDATE bodies SET data = 'x' WHERE id = 1", "body 1 has a field of another type"),
        ("DELETE FROM bodies WHERE id = 1", "body 1 is missing"),
        ("UPDATE exchanges SET headers = '{' WHERE number = 0", "exchange 0: "),
        ("UPDATE exchanges SET usage = '{\"x\":1}' WHERE number = 0", "exchange 0: "),
        ("DROP TABLE bodies", "damaged or cut off"),
    ],
)
def test_damage_is_said_not_passed_on(path: Path, change: str, message: str) -> None:
    with Session.create(path) as session:
        for number in range(3):
            session.append(made(number))
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    with Session.open(path) as session:
        with pytest.raises(SessionError) as caught:
            list(session.exchanges())
        with pytest.raises(SessionError):
            session.exchange(0)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.remedy


def test_damage_to_one_body_leaves_the_others_readable_and_recording_going(path: Path) -> None:
    with Session.create(path) as session:
        session.append(minimal(b"first"))
        session.append(minimal(b"second"))
        session._connection.execute(
            "UPDATE bodies SET data = zeroblob(9), base = NULL WHERE id = 2"
        )
    with Session.create(path) as session:
        assert session.exchange(0).request == b"first"
        with pytest.raises(SessionError):
            session.exchange(1)
        assert session.append(minimal(b"third")) == 2
        assert session.exchange(2).request == b"third"


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data())
def test_no_damage_to_the_file_gets_through(tmp_path: Path, data: st.DataObject) -> None:
    whole = tmp_path / "whole.cachediag"
    if not whole.exists():
        with Session.create(whole) as session:
            for number in range(6):
                session.append(made(number))
    content = bytearray(whole.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(1, len(content) - 1)) :]
    else:
        for _ in range(data.draw(st.integers(1, 20))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    damaged = tmp_path / f"{time.monotonic_ns()}.cachediag"
    damaged.write_bytes(content)
    # What raises anything but a SessionError fails here.
    with contextlib.suppress(SessionError), Session.open(damaged) as session:
        # A row may have lost or changed its body's number: what is read was stored all the same.
        right = {b"", *(part for n in range(6) for part in (made(n).request, made(n).response))}
        assert {part for pair in bodies(session) for part in pair} <= right


def test_compact_goes_on_beside_a_process_that_appends(path: Path, start_writer: Start) -> None:
    process = start_writer(path, 0, 150)
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    with Session.open(path) as session:
        session.compact()
    process.communicate()
    assert process.returncode == 0
    with Session.open(path) as session:
        session.compact()
        assert list(session.exchanges()) == [stored(made(n), n) for n in range(150)]


def test_compact_makes_a_session_smaller(path: Path) -> None:
    chance = random.Random(3)
    words = [chance.randbytes(chance.randint(1, 4)).hex() for _ in range(2000)]
    texts = [" ".join(chance.choices(words, k=4000)).encode() for _ in range(12)]
    with Session.create(path) as session:
        for text in texts:
            session.append(minimal(text))
    before = path.stat().st_size
    with Session.open(path) as session:
        session.compact()
        assert [request for request, _ in bodies(session)] == texts
    assert path.stat().st_size < 0.97 * before
    assert list(path.parent.iterdir()) == [path]


def test_headers_are_plain_json_for_other_readers(path: Path) -> None:
    with Session.create(path) as session:
        session.append(FULL)
    with sqlite3.connect(path) as connection:
        headers, usage, notes = connection.execute(
            "SELECT headers, usage, notes FROM exchanges"
        ).fetchone()
    connection.close()
    assert json.loads(headers) == FULL.info.headers
    assert json.loads(usage) == {"input_tokens": 7, "cache_read": 0, "output_tokens": 3}
    assert json.loads(notes) == ["one", "two"]
