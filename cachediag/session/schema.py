"""The tables of a session file, and how one is opened for writing and for reading.

The file is described in `docs/session-format.md`; a test holds `TABLES` against that page.
"""

import errno
import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cachediag.errors import SessionError
from cachediag.session.tables import check_tables

__all__ = [
    "APPLICATION_ID",
    "FORMAT",
    "SUFFIX",
    "TABLES",
    "check_header",
    "explained",
    "last_written",
    "open_for_reading",
    "open_for_writing",
    "read_header",
    "version",
]

APPLICATION_ID = 0x43446961
"""`CDia` in the four bytes at offset 68 of the file, where SQLite keeps the application's id."""

FORMAT = 2
"""Version of the format, kept where SQLite keeps the user version (offset 60)."""

_OUTGOING = "outgoing INTEGER REFERENCES bodies (id)"

SUFFIX = ".cachediag"

TABLES = (
    """\
CREATE TABLE meta (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID""",
    """\
CREATE TABLE bodies (
  id INTEGER PRIMARY KEY,
  sha256 BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  base INTEGER REFERENCES bodies (id),
  depth INTEGER NOT NULL,
  data BLOB NOT NULL
)""",
    f"""\
CREATE TABLE exchanges (
  number INTEGER PRIMARY KEY,
  endpoint TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  started REAL,
  first_byte REAL,
  first_token REAL,
  ended REAL,
  status INTEGER,
  model TEXT,
  response_model TEXT,
  usage TEXT,
  headers TEXT NOT NULL,
  response_headers TEXT NOT NULL,
  notes TEXT NOT NULL,
  error TEXT,
  request INTEGER REFERENCES bodies (id),
  response INTEGER REFERENCES bodies (id),
  {_OUTGOING}
)""",
    """\
CREATE TABLE recorders (
  id INTEGER PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started REAL NOT NULL
)""",
)

_BUSY_SECONDS = 10.0
_NO_INDEX = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
"""What SQLite says where it cannot make the index of the log."""


def read_header(path: Path) -> tuple[int, int] | None:
    """Read the application id and the format version of a file.

    The file is opened through SQLite: closing a descriptor of one's own would drop the locks that
    this process holds on the file for an open session, and another process could then remove
    the log that is still being written.

    Returns:
        Both numbers, or None where the file is not an SQLite file.

    Raises:
        OSError: the file cannot be read.
        SessionError: it is an SQLite file, and damaged.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return None
    connection = _connect(path, "ro&immutable=1")
    try:
        # While the log is merged into the file, and after a kill in the midst of that, the file may
        # end before the last page that its first one tells of: what is missing is in the log.
        connection.execute("PRAGMA writable_schema = ON")
        return _header(connection)
    except sqlite3.Error as error:
        match error.sqlite_errorcode & 0xFF:
            case sqlite3.SQLITE_NOTADB:
                return None
            case sqlite3.SQLITE_CANTOPEN:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error
            case _:
                raise _session_error(path, error, "read") from error
    finally:
        connection.close()


def _header(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    # SQLite gives it as signed.
    return application & 0xFFFFFFFF, version(connection)


def version(connection: sqlite3.Connection) -> int:
    """Return the version of the format of an open session.

    Another process that opens the session to append may raise it at any time.

    Raises:
        sqlite3.Error: the file cannot be read.
    """
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found) & 0xFFFFFFFF


def check_header(path: Path) -> None:
    """Check that a file is a session of a format that can be read.

    Raises:
        SessionError: it is missing, not a session, or of a newer format.
    """
    try:
        header = read_header(path)
        size = path.stat().st_size
    except OSError as error:
        raise SessionError(
            f"cannot be read ({os.strerror(error.errno or errno.EIO)})",
            where=str(path),
            remedy="List what has been recorded: cachediag sessions",
        ) from error
    if header is None or header[0] != APPLICATION_ID:
        what = "an SQLite database, but not a session" if header else "not a session file"
        raise SessionError(
            what if size else "the file is empty",
            where=str(path),
            remedy="Give a session that `cachediag record` or `cachediag import` wrote",
        )
    _check_version(path, header[1])


def _check_version(path: Path, found: int) -> None:
    if found > FORMAT:
        raise SessionError(
            f"session of format {found}, newer than {FORMAT}, the newest that can be read here",
            where=str(path),
            remedy="Upgrade cachediag: pip install --upgrade cachediag",
        )


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open a session to append to, creating it with mode 0600 where there is none.

    A session of an older format is brought to this one; processes that have it open go on. A file
    of no bytes counts as none: a recorder killed before its first write leaves one.

    Raises:
        SessionError: the file exists and is not a session, or cannot be written.
    """
    try:
        # SQLite gives -wal and -shm the mode of the file itself, so it must be right before.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise SessionError(
            f"cannot be created ({error.strerror})",
            where=str(path),
            remedy="Name another file with -o FILE",
        ) from error
    with explained(path):
        # A writer that another process interrupts in creating leaves the schema to the next one.
        if path.stat().st_size:
            check_header(path)
        connection = _connect(path, "rw")
        try:
            _create(connection)
            check_tables(path, connection)
            _use_log(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            _check_version(path, _header(connection)[1])
        except BaseException:
            connection.close()
            raise
    return connection


def open_for_reading(path: Path) -> tuple[sqlite3.Connection, Callable[[], None]]:
    """Open a session to read it, wherever it lies.

    Where the directory cannot be written SQLite cannot make the index of the write-ahead log;
    the file is then read as it is, or, where a killed recorder left a log beside it, from a
    copy of both.

    Returns:
        The connection, and what must be called once it is closed.

    Raises:
        SessionError: it is missing, damaged, not a session, or of a newer format.
    """
    check_header(path)
    with explained(path):
        connection = _connect(path, "rw")
        if _readable(connection):
            connection.execute("PRAGMA query_only = ON")
            return connection, _nothing
        connection.close()
        if not _has_log(path):
            return _connect(path, "ro&immutable=1"), _nothing
        return _open_copy(path)


def _open_copy(path: Path) -> tuple[sqlite3.Connection, Callable[[], None]]:
    directory = tempfile.mkdtemp(prefix="cachediag-")

    def remove() -> None:
        shutil.rmtree(directory, ignore_errors=True)

    try:
        copy = Path(directory) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(_log(path), _log(copy))
        return _connect(copy, "rw"), remove
    except BaseException:
        remove()
        raise


def last_written(path: Path) -> int:
    """Return when a session was last written, in nanoseconds since the epoch.

    While it is recorded, and after a kill, its latest exchanges are in the log beside it.

    Raises:
        OSError: there is no such file.
    """
    written = path.stat().st_mtime_ns
    try:
        log = _log(path).stat()
    except OSError:
        return written
    return max(written, log.st_mtime_ns) if log.st_size else written


@contextmanager
def explained(path: Path, doing: str = "read") -> Iterator[None]:
    """Turn what SQLite and the system raise into a SessionError with a remedy.

    Args:
        path: the session concerned.
        doing: `read` or `write`.
    """
    try:
        yield
    # SQLite quotes the damaged schema in its message, which need not be UTF-8 then.
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _session_error(path, error, doing) from error
    except OSError as error:
        raise SessionError(
            f"cannot {doing} the session ({error.strerror or type(error).__name__})",
            where=str(path),
        ) from error


def _session_error(path: Path, error: Exception, doing: str) -> SessionError:
    # Extended codes carry the primary one in their low byte.
    text_damaged = isinstance(error, UnicodeDecodeError)
    code: int = sqlite3.SQLITE_CORRUPT if text_damaged else getattr(error, "sqlite_errorcode", 0)
    remedy: str | None
    match code & 0xFF:
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_ERROR:
            what = "the session is damaged or cut off"
            remedy = "Take it from a backup, or record again: cachediag record -- claude"
        case sqlite3.SQLITE_FULL:
            what, remedy = "the disk is full", "Free some space; what was stored is kept"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            what, remedy = "another process holds the session", "Try again when it has ended"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            what, remedy = f"cannot {doing} the session", "Look at the rights of file and directory"
        case sqlite3.SQLITE_IOERR:
            what, remedy = f"cannot {doing} the session (input/output error)", "Look at the disk"
        case _:
            name = getattr(error, "sqlite_errorname", error)
            what, remedy = f"cannot {doing} the session ({name})", None
    return SessionError(what, where=str(path), remedy=remedy)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # The recorder opens in one thread and writes in another, one at a time.
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _create(connection: sqlite3.Connection) -> None:
    # All of it goes into the main file in one transaction, before the log is switched on: a
    # session is told by the first bytes of that file, whatever the log holds.
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            for table in TABLES:
                connection.execute(table)
        elif version(connection) == 1:
            connection.execute(f"ALTER TABLE exchanges ADD COLUMN {_OUTGOING}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _use_log(connection: sqlite3.Connection) -> None:
    # A file system that cannot hold the log keeps a rollback journal: slower, as safe. While
    # another process opens the file too, SQLite refuses the switch without waiting.
    deadline = time.monotonic() + _BUSY_SECONDS
    while time.monotonic() < deadline:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(0.01)
        else:
            return


def _readable(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_INDEX:
            return False
        connection.close()
        raise
    return True


def _log(path: Path) -> Path:
    # SQLite follows links, and puts the log beside the file itself.
    file = path.resolve()
    return file.with_name(file.name + "-wal")


def _has_log(path: Path) -> bool:
    try:
        return _log(path).stat().st_size > 0
    except OSError:
        return False


def _nothing() -> None:
    pass
