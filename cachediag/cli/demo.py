"""`cachediag demo`: record, show and diff a made-up session, to see what the rest is good for."""

from typing import TYPE_CHECKING

from cachediag.cli.console import err, out, write
from cachediag.cli.options import Format, FormatOption

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["demo"]


def demo(format_: FormatOption = Format.text) -> None:
    """Record a made-up session, and show what broke its prefixes.

    A made-up client talks through the real proxy to a made-up model server, all of them on this
    machine. The session is kept as `demo`, in place of an earlier one.
    """
    from cachediag.analysis import requests
    from cachediag.demo.outcome import INTRODUCTION, OutcomeReport, document
    from cachediag.demo.recorded import record
    from cachediag.report import documents
    from cachediag.report.style import Paragraph
    from cachediag.session import Session

    if format_ is Format.text:
        out().print(Paragraph(INTRODUCTION))
    path = record(_tell).path
    name = _name(path)
    with Session.open(path) as session:
        found = tuple(requests(session.exchanges(), session.exchange))
    if format_ is Format.json:
        write(documents.dumps(document(name, found)))
    else:
        out().print()
        out().print(OutcomeReport(name, found))


def _tell(message: str) -> None:
    from cachediag.report.safe import printable

    err().print(printable(message), soft_wrap=True)


def _name(path: "Path") -> str:
    """How to name the session in a command: a file in the current directory comes before it."""
    from shlex import quote

    from cachediag.session import library

    for name in (path.stem, path.name):
        if library.resolve(name) == path.resolve():
            return name
    return quote(str(path))
