import sqlite3
import threading

import pytest

from cachediag.capture import writer as writer_module
from cachediag.capture.exchange import RawExchange
from cachediag.capture.writer import Writer
from cachediag.errors import SessionError
from cachediag.model import Exchange


def raw(body: bytes = b"{}") -> RawExchange:
    return RawExchange(
        endpoint="messages", method="POST", path="/v1/messages", headers=(), body=body
    )


class Store:
    """Keeps exchanges, and fails on those whose body says so."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.closed = False

    def append(self, exchange: Exchange) -> int:
        if exchange.request == b"fail":
            raise sqlite3.OperationalError("database or disk is full")
        self.kept.append(exchange.request)
        return len(self.kept) - 1

    def close(self) -> None:
        self.closed = True


def test_exchanges_are_stored_in_turn_and_told_of_with_their_index():
    store = Store()
    stored: list[Exchange] = []
    writer = Writer(lambda: store, tell=pytest.fail, stored=stored.append)
    writer.put(raw(b"before it started"))
    writer.start()
    writer.put(raw(b"after"))
    assert writer.close() == 0
    assert store.kept == [b"before it started", b"after"]
    assert store.closed
    assert [exchange.info.index for exchange in stored] == [0, 1]


def test_a_full_disk_is_told_once_and_later_exchanges_are_tried():
    store = Store()
    told: list[str] = []
    writer = Writer(lambda: store, tell=told.append)
    writer.start()
    for body in (b"1", b"fail", b"2", b"fail", b"3"):
        writer.put(raw(body))
    assert writer.close() == 2
    assert store.kept == [b"1", b"2", b"3"]
    assert told == [
        "database or disk is full; the exchange was passed on unrecorded, later ones are tried"
        " again"
    ]


def test_a_failure_that_cannot_be_told_is_counted_all_the_same():
    def gone(_: str) -> None:
        raise BrokenPipeError

    store = Store()
    writer = Writer(lambda: store, tell=gone)
    writer.start()
    for body in (b"fail", b"1"):
        writer.put(raw(body))
    assert writer.close() == 1
    assert store.kept == [b"1"]


def test_a_session_that_cannot_be_opened_is_tried_again():
    store = Store()
    told: list[str] = []
    attempts: list[int] = []

    def open_store() -> Store:
        attempts.append(1)
        # The first attempt is the one at the start, which no exchange depends on.
        if len(attempts) < 3:
            raise SessionError("cannot be made (Read-only file system)", where="/mnt/x.cachediag")
        return store

    writer = Writer(open_store, tell=told.append)
    writer.start()
    for body in (b"1", b"2", b"3"):
        writer.put(raw(body))
    assert writer.close() == 1
    assert store.kept == [b"2", b"3"]
    assert len(told) == 1
    assert told[0].startswith("/mnt/x.cachediag: cannot be made (Read-only file system); ")


def test_a_screen_that_is_gone_loses_nothing():
    def gone(_: Exchange) -> None:
        raise BrokenPipeError

    store = Store()
    writer = Writer(lambda: store, tell=pytest.fail, stored=gone)
    writer.start()
    writer.put(raw())
    assert writer.close() == 0
    assert store.kept == [b"{}"]


def test_a_disk_too_slow_to_keep_up_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(writer_module, "_MAX_WAITING", 100)
    go_on = threading.Event()
    told: list[str] = []

    class Slow(Store):
        def append(self, exchange: Exchange) -> int:
            assert go_on.wait(10)
            return super().append(exchange)

    store = Slow()
    writer = Writer(lambda: store, tell=told.append)
    writer.start()
    bodies = [bytes([letter]) * 40 for letter in b"abcd"]
    for body in bodies:
        writer.put(raw(body))
    go_on.set()
    assert writer.close() == 2
    assert store.kept == bodies[:2]
    assert [message.partition(";")[0] for message in told] == ["the disk is too slow to keep up"]


def test_a_body_larger_than_the_bound_is_stored_when_nothing_else_waits(monkeypatch):
    monkeypatch.setattr(writer_module, "_MAX_WAITING", 100)
    store = Store()
    writer = Writer(lambda: store, tell=pytest.fail)
    writer.start()
    writer.put(raw(b"x" * 1000))
    assert writer.close() == 0
    assert store.kept == [b"x" * 1000]


def test_closing_twice_or_before_the_start_is_no_trouble():
    writer = Writer(Store, tell=pytest.fail)
    assert writer.close() == 0
    writer = Writer(Store, tell=pytest.fail)
    writer.start()
    assert (writer.close(), writer.close()) == (0, 0)
