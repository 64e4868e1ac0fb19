"""A look at what kind of things an SQLite file holds before anything in it is asked for."""

import sqlite3
from pathlib import Path

from cachediag.errors import SessionError

__all__ = ["check_tables"]


def check_tables(path: Path, connection: sqlite3.Connection) -> None:
    """See that a file holds tables and their rows, and no queries that reading them would run.

    A view may count to the end of the world, and a trigger may write.

    Raises:
        SessionError: it holds more.
        sqlite3.Error: it cannot be read.
    """
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
        " OR sql LIKE 'CREATE VIRTUAL%' OR EXISTS"
        " (SELECT 1 FROM pragma_table_xinfo(sqlite_master.name) WHERE hidden > 0)"
    ).fetchone()
    if found is not None:
        raise SessionError(
            "an SQLite database that holds more than a session's tables",
            where=str(path),
            remedy="Give a session that `cachediag record` or `cachediag import` wrote",
        )
