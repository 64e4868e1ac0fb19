"""`cachediag import`: turn recordings of other tools into a session file."""

from pathlib import Path
from typing import Annotated

import typer

from cachediag.cli.console import say
from cachediag.errors import UsageError

__all__ = ["import_"]


def import_(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="mitmproxy flows, HAR, JSONL, bodies, folders of bodies, or - for stdin.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write; by default a new session beside the recorded ones.",
        ),
    ] = None,
) -> None:
    """Turn recordings of other tools into one session file.

    Exchanges stand in it in the order of the files.

    \b
    Examples:
      cachediag import flows.mitm
      cachediag import log.har bodies/ -o mine.cachediag
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from datetime import datetime

    from cachediag.capture.importers import open_source
    from cachediag.report.style import count
    from cachediag.session import Session, library

    sources = [open_source(file) for file in files]
    if output is not None and output.exists():
        raise UsageError("exists already", where=str(output), remedy="Give a new file: -o FILE")
    # Without a name of its own the file is there already: its name was reserved.
    path = output or library.new_path(datetime.now().astimezone())
    written = 0
    with Session.create(path, meta={"imported": ", ".join(files)}) as session:
        for source in sources:
            for exchange in source.exchanges():
                session.append(exchange)
                written += 1
    if output is not None:
        library.register(path)
    for source in sources:
        for note in source.notes:
            say(f"note: {note}")
    say(f"{count(written, 'exchange')} in {output or path.name}")
    say("next   cachediag diff   what broke the prefixes")
