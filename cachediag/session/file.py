"""The session file: append, read, follow, compact. See `docs/session-format.md`."""

import contextlib
import os
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from cachediag import __version__
from cachediag.errors import SessionError
from cachediag.model import Exchange, ExchangeInfo
from cachediag.session import delta, schema
from cachediag.session.bodies import Bodies, BodyDamagedError, Encoded, Kind
from cachediag.session.rows import INSERT, info_of, row_of, selecting, storable
from cachediag.session.source import no_request
from cachediag.session.tables import check_tables

__all__ = ["Recorder", "Session"]

_BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class Recorder:
    """A process that has a session open to append."""

    pid: int
    started: float
    """When it opened the session, in seconds since the epoch."""


class Session:
    """One session file, open to append (`create`) or to read (`open`).

    It satisfies `cachediag.session.Source`. An exchange is one transaction: a process killed at
    any point loses at most the exchange it was storing. Several processes may append to one
    file, and others read and follow it meanwhile. One object is for one thread at a time.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        recorder: int | None = None,
        release: Callable[[], None] | None = None,
    ) -> None:
        self.path = path
        self._connection = connection
        self._bodies = Bodies(connection)
        self._recorder = recorder
        self._release = release

    @classmethod
    def create(cls, path: Path, *, meta: Mapping[str, str] | None = None) -> Self:
        """Open a session to append, making the file (mode 0600) where there is none.

        Args:
            path: the file. An existing session keeps what it holds, its meta included.
            meta: what is worth knowing of the recording as a whole, such as the upstream.

        Raises:
            SessionError: the file is there and is not a session, is of a newer format, or
                cannot be written.
        """
        connection = schema.open_for_writing(path)
        try:
            with schema.explained(path, "write"), _transaction(connection):
                started = time.time()
                values = {"created": repr(started), "cachediag": __version__} | dict(meta or {})
                connection.executemany(
                    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING",
                    [(storable(key), storable(value)) for key, value in values.items()],
                )
                _forget_dead(connection)
                recorder = connection.execute(
                    "INSERT INTO recorders (host, pid, started) VALUES (?, ?, ?)",
                    (storable(socket.gethostname()), os.getpid(), started),
                ).lastrowid
        except BaseException:
            connection.close()
            raise
        return cls(path, connection, recorder=recorder)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a session to read it, also while it is recorded, or after its recorder was killed.

        Raises:
            SessionError: it is missing, damaged, of a newer format, or not a session.
        """
        connection, release = schema.open_for_reading(path)
        session = cls(path, connection, release=release)
        try:
            session._check_contents()
        except SessionError:
            session.close()
            raise
        return session

    def close(self) -> None:
        """Close the file; the last process to do so merges the log into it."""
        with contextlib.suppress(sqlite3.Error):
            if self._recorder is not None:
                self._connection.execute("DELETE FROM recorders WHERE id = ?", (self._recorder,))
        with contextlib.suppress(OSError):
            before = schema.last_written(self.path)
            self._connection.close()
            # Merging the log of a killed recorder must not make its session the newest one.
            if self._recorder is None and schema.last_written(self.path) > before:
                os.utime(self.path, ns=(before, before))
        self._connection.close()
        if self._release is not None:
            self._release()
            self._release = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.name.removesuffix(schema.SUFFIX)

    @property
    def notes(self) -> Sequence[str]:
        """Nothing: a session is read whole or not at all."""
        return ()

    @property
    def meta(self) -> Mapping[str, str]:
        """What is known of the recording as a whole.

        `created` (seconds since the epoch), `cachediag` (the version that made the file), and
        what the recorder added.
        """
        with schema.explained(self.path):
            return dict(self._connection.execute("SELECT key, value FROM meta ORDER BY key"))

    def recorders(self) -> list[Recorder]:
        """Return the other live processes on this machine that have the session open to append."""
        with schema.explained(self.path):
            rows = self._connection.execute(
                "SELECT id, host, pid, started FROM recorders ORDER BY id"
            ).fetchall()
        return [
            Recorder(pid, started)
            for key, host, pid, started in rows
            if key != self._recorder and host == socket.gethostname() and _alive(pid)
        ]

    def append(self, exchange: Exchange) -> int:
        """Store one exchange in a transaction of its own.

        Args:
            exchange: what to store; `index` and the sizes in its info are ignored. Lone surrogates
                in its texts are stored as escapes.

        Returns:
            The index it got.

        Raises:
            SessionError: a body is larger than `MAX_BODY`, or it cannot be written. Nothing of it
                is stored then; all that was stored before stays readable, and a later append may
                succeed.
        """
        if self._recorder is None:
            raise SessionError("the session is open to be read only", where=str(self.path))
        largest = max(map(len, (exchange.request, exchange.response, exchange.outgoing or b"")))
        if largest > delta.MAX_BODY:
            raise SessionError(
                f"a body of {largest >> 20} MiB, where a session holds"
                f" {delta.MAX_BODY >> 20} MiB at most",
                where=str(self.path),
                remedy="Leave it out",
            )
        with schema.explained(self.path, "write"):
            parts = (
                self._encode("request", exchange.request),
                self._encode("response", exchange.response),
            )
            with _transaction(self._connection):
                ids = [None if part is None else self._bodies.insert(part) for part in parts]
                values = (*row_of(exchange.info), *ids, self._outgoing(exchange, ids[0]))
                number = self._connection.execute(INSERT, values).lastrowid
            for part, body_id in zip(parts, ids, strict=True):
                if part is not None and body_id is not None:
                    self._bodies.committed(part, body_id)
        assert number is not None
        return number

    def __len__(self) -> int:
        with schema.explained(self.path):
            row = self._connection.execute("SELECT COUNT(*) FROM exchanges").fetchone()
        return int(row[0])

    def _check_contents(self) -> None:
        # An exchange that is not numbered from 0 on would never be read.
        with schema.explained(self.path):
            check_tables(self.path, self._connection)
            count, first, last = self._connection.execute(
                "SELECT COUNT(*), MIN(number), MAX(number) FROM exchanges"
            ).fetchone()
        if count and (first, last) != (0, count - 1):
            raise self._damaged("its exchanges are not numbered from 0")

    def info(self, index: int) -> ExchangeInfo:
        """Return all of one exchange but its bodies.

        Raises:
            UsageError: there is none of that number.
            SessionError: the file is damaged.
        """
        return self._info(self._row(index))

    def infos(self) -> Iterator[ExchangeInfo]:
        """Yield all of each exchange but its bodies.

        Raises:
            SessionError: the file is damaged.
        """
        return map(self._info, self._rows(0))

    def exchange(self, index: int) -> Exchange:
        """Return one exchange.

        Raises:
            UsageError: there is none of that number.
            SessionError: the file is damaged.
        """
        return self._exchange(self._row(index))

    def exchanges(self, start: int = 0) -> Iterator[Exchange]:
        """Yield the exchanges from `start` on, in order.

        Raises:
            SessionError: the file is damaged.
        """
        return map(self._exchange, self._rows(start))

    def follow(
        self,
        start: int = 0,
        poll: float = 0.2,
        stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[Exchange]:
        """Yield the exchanges from `start` on, and then each new one as another process adds it.

        Args:
            start: index to begin at.
            poll: seconds between two looks at the file.
            stop: asked before each look; once it is true, the exchanges stored by then are
                yielded, and no more.

        Raises:
            SessionError: the file is damaged.
        """
        while True:
            last = stop()
            for exchange in self.exchanges(start):
                start = exchange.info.index + 1
                yield exchange
            if last:
                return
            time.sleep(poll)

    def compact(self) -> None:
        """Make the file as small as it gets, and merge the log into it.

        Bodies are compressed harder, against the same ones as before, so that other processes
        may go on reading and appending.

        Raises:
            SessionError: the file is damaged or cannot be written; it is as before then.
        """
        with schema.explained(self.path, "write"):
            connection = schema.open_for_writing(self.path)
            try:
                with _transaction(connection):
                    Bodies(connection).recompress()
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except BodyDamagedError as error:
                raise self._damaged(str(error)) from error
            finally:
                connection.close()

    def _encode(self, kind: Kind, body: bytes) -> Encoded | None:
        return self._bodies.encode(kind, body) if body else None

    def _outgoing(self, exchange: Exchange, request: int | None) -> int | None:
        if exchange.outgoing is None:
            return None
        return self._bodies.insert_variant(exchange.outgoing, request, exchange.request)

    def _select(self, start: int, count: int) -> list[tuple[Any, ...]]:
        with schema.explained(self.path):
            # Another process that appends may have raised the version since this one looked.
            statement = selecting(schema.version(self._connection))
            return self._connection.execute(statement, (start, count)).fetchall()

    def _row(self, index: int) -> tuple[Any, ...]:
        rows = self._select(index, 1)
        if not rows or rows[0][0] != index:
            raise no_request(self.name, index, len(self))
        return rows[0]

    def _rows(self, start: int) -> Iterator[tuple[Any, ...]]:
        # In batches, so that no read transaction stays open between them: an open one would
        # keep the log from being merged.
        while True:
            rows = self._select(start, _BATCH)
            yield from rows
            if len(rows) < _BATCH:
                return
            start = rows[-1][0] + 1

    def _info(self, row: tuple[Any, ...]) -> ExchangeInfo:
        try:
            return info_of(row)
        except ValueError as error:
            raise self._damaged(f"exchange {row[0]}: {error}") from error

    def _exchange(self, row: tuple[Any, ...]) -> Exchange:
        info = self._info(row)
        request, response, outgoing = row[-3:]
        try:
            with schema.explained(self.path):
                return Exchange(
                    info,
                    b"" if request is None else self._bodies.read(request),
                    b"" if response is None else self._bodies.read(response),
                    None if outgoing is None else self._bodies.read(outgoing),
                )
        except BodyDamagedError as error:
            raise self._damaged(f"exchange {info.index}: {error}") from error

    def _damaged(self, what: str) -> SessionError:
        return SessionError(
            f"the session is damaged ({what})",
            where=str(self.path),
            remedy="Take it from a backup, or record again: cachediag record -- claude",
        )


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    # IMMEDIATE takes the write lock at once: two writers never read the same last index.
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _forget_dead(connection: sqlite3.Connection) -> None:
    host = socket.gethostname()
    rows = connection.execute("SELECT id, pid FROM recorders WHERE host = ?", (host,)).fetchall()
    dead = [(key,) for key, pid in rows if not _alive(pid)]
    connection.executemany("DELETE FROM recorders WHERE id = ?", dead)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError, TypeError):
        return True
    return True
