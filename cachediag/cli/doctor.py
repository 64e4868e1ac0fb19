"""`cachediag doctor`: what is installed, and what is not."""

from typing import Annotated

import typer

from cachediag.cli.console import err, out, write
from cachediag.cli.options import Format, FormatOption

__all__ = ["doctor"]


def doctor(
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="URL",
            help="A server to recognise, on this machine or in a private network.",
            show_default=False,
        ),
    ] = None,
    format_: FormatOption = Format.text,
) -> None:
    """Say what is installed and what is not, and what mends it.

    \b
    Examples:
      cachediag doctor
      cachediag doctor --backend http://127.0.0.1:8000
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.backends.installed import installed
    from cachediag.backends.recognise import recognise
    from cachediag.backends.sandbox import Sandbox, state
    from cachediag.capture.client import base_urls
    from cachediag.capture.redact import safe_url
    from cachediag.report import documents
    from cachediag.report.doctor import DoctorReport, document

    url = None if backend is None else base_urls({}, backend)["ANTHROPIC_BASE_URL"]
    # Nothing is shown where there is no terminal.
    with err().status("looking"):
        items = tuple(installed())
        found = None if url is None else recognise(url)
        shown = None if url is None else safe_url(url)
        report = DoctorReport(items, state(Sandbox()), shown, found)
    if format_ is Format.json:
        write(documents.dumps(document(report)))
    else:
        out().print(report)
