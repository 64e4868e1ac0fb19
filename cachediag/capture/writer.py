"""Storing exchanges on a thread of its own, so that traffic never waits for the disk."""

import contextlib
import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from cachediag.capture.exchange import CHUNK_MEMORY, RawExchange, assemble
from cachediag.capture.masking import Secrets
from cachediag.capture.redact import scrub
from cachediag.errors import CachediagError
from cachediag.model import Exchange

__all__ = ["Store", "Tell", "Writer"]

Tell = Callable[[str], None]
"""Called with one line that the user should see; called from any thread."""

_MAX_WAITING = 512 * 1024 * 1024
_CLOSE_TIMEOUT = 60.0


class Store(Protocol):
    """Where exchanges go; `cachediag.session.Session` is one."""

    def append(self, exchange: Exchange) -> int:
        """Store one exchange for good, and return its index."""

    def close(self) -> None:
        """Release the file."""


class Writer:
    """Takes exchanges as they end, and stores each in turn.

    A failure never reaches the traffic: the exchange is counted as lost, the user is told of the
    first one, and the next exchange is tried again.

    Args:
        open_store: opens the session; called on the writer's thread, and again after it failed.
        tell: told once if something cannot be stored.
        stored: called, on the writer's thread, with each exchange that was stored, its index set.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        *,
        tell: Tell,
        stored: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._open_store = open_store
        self._store: Store | None = None
        self._tell = tell
        self._stored = stored
        self._secrets = Secrets()
        self._queue: queue.SimpleQueue[RawExchange | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self.lost = 0
        """Exchanges that passed but could not be stored."""
        self._thread = threading.Thread(target=self._run, name="cachediag-writer", daemon=True)

    def start(self) -> None:
        """Open the session and begin to store; exchanges may be handed over before."""
        self._thread.start()

    def put(self, raw: RawExchange) -> None:
        """Hand over an exchange; returns at once and never raises."""
        size = _size(raw)
        with self._lock:
            fits = self._waiting + size <= _MAX_WAITING or self._waiting == 0
            if fits:
                self._waiting += size
        if fits:
            self._queue.put(raw)
        else:
            self._lose("the disk is too slow to keep up")

    def close(self) -> int:
        """Store all that waits, and release the file.

        Returns:
            How many exchanges were lost.
        """
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join(_CLOSE_TIMEOUT)
        return self.lost + self._queue.qsize()

    def _run(self) -> None:
        # Other recorders see that this one has the session open; a failure is told of, and tried
        # again, with the first exchange.
        with contextlib.suppress(Exception):
            self._store = self._open_store()
        while (raw := self._queue.get()) is not None:
            self._write(raw)
            with self._lock:
                self._waiting -= _size(raw)
            # The thread would otherwise keep a large body until the next exchange.
            del raw
        if self._store is not None:
            with contextlib.suppress(Exception):
                self._store.close()

    def _write(self, raw: RawExchange) -> None:
        try:
            exchange = assemble(raw, self._secrets)
            if self._store is None:
                self._store = self._open_store()
            index = self._store.append(exchange)
        except Exception as error:  # noqa: BLE001 - recording must not end with one exchange
            self._lose(_reason(error))
            return
        if self._stored is not None:
            # A terminal that has gone away is no reason to stop.
            with contextlib.suppress(Exception):
                self._stored(replace(exchange, info=replace(exchange.info, index=index)))

    def _lose(self, reason: str) -> None:
        with self._lock:
            self.lost += 1
            first = self.lost == 1
        if first:
            with contextlib.suppress(Exception):
                self._tell(
                    f"{reason}; the exchange was passed on unrecorded, later ones are tried again"
                )


def _size(raw: RawExchange) -> int:
    chunks = sum(len(data) + CHUNK_MEMORY for _, data in raw.chunks)
    return len(raw.body) + len(raw.outgoing or b"") + chunks


def _reason(error: Exception) -> str:
    if isinstance(error, CachediagError):
        return str(error)
    return scrub(f"{error}" or type(error).__name__, ()).splitlines()[0]
