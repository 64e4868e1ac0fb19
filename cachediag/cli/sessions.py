"""`cachediag sessions`: what has been recorded."""

from typing import TYPE_CHECKING

from cachediag.cli.console import out, write
from cachediag.cli.options import Format, FormatOption

if TYPE_CHECKING:
    from pathlib import Path

    from cachediag.model import Json

__all__ = ["sessions"]


def sessions(format_: FormatOption = Format.text) -> None:
    """List the recorded sessions, the newest first.

    \b
    Examples:
      cachediag sessions
      cachediag sessions --format json
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.report import documents
    from cachediag.report.session import SessionsReport
    from cachediag.session import library

    rows = [_row(path) for path in library.recorded()]
    if format_ is Format.json:
        write(documents.dumps(documents.sessions(rows)))
    else:
        out().print(SessionsReport(tuple(rows), str(library.sessions_dir())))


def _row(path: "Path") -> dict[str, "Json"]:
    """One recording; of a file that cannot be read the reason."""
    from cachediag.errors import SessionError
    from cachediag.session import Session

    row: dict[str, Json] = {
        "name": path.stem,
        "path": str(path),
        "file_bytes": path.stat().st_size,
        "exchanges": None,
        "body_bytes": None,
        "started": None,
        "problem": None,
    }
    try:
        with Session.open(path) as session:
            infos = list(session.infos())
    except SessionError as error:
        return row | {"problem": error.message}
    started = [info.started for info in infos if info.started is not None]
    return row | {
        "exchanges": len(infos),
        "body_bytes": sum(info.request_size for info in infos),
        "started": min(started, default=None),
    }
