"""Session files of our own."""

from pathlib import Path

from cachediag.session import Session
from cachediag.session.schema import read_header

__all__ = ["open_session"]


def open_session(path: Path) -> Session | None:
    """Open a session, which is read from the file as it is asked for.

    Returns:
        The session; None where the file is not an SQLite file.

    Raises:
        SessionError: it is damaged, of a newer format, or another program's database.
        OSError: the file cannot be read.
    """
    return None if read_header(path) is None else Session.open(path)
