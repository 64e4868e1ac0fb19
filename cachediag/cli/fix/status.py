"""`cachediag fix status`: what is in place."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import out, write
from cachediag.cli.options import Format, FormatOption, ProfileOption, asked, source

if TYPE_CHECKING:
    from cachediag.fix.status import Cause

__all__ = ["status"]


def status(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="[SESSION]",
            help="A session whose causes are held against what is in place.",
            show_default=False,
        ),
    ] = None,
    profile: ProfileOption = None,
    format_: FormatOption = Format.text,
) -> None:
    """Say which switches are set, and what a backend removes of its own.

    Run it where the client is started: settings files of the project are looked for there.

    \b
    Examples:
      cachediag fix status
      cachediag fix status --profile vllm-mlx@0.6.0
      cachediag fix status stock --profile llama.cpp --format json
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.fix.status import backend, causes, client
    from cachediag.fix.switches import clients
    from cachediag.render import profiles
    from cachediag.report import documents
    from cachediag.report.status import StatusReport, document

    named = None if profile is None else profiles.profile(profile)
    states = tuple(client(each, os.environ, Path.cwd()) for each in clients())
    found: tuple[Cause, ...] | None = None
    endpoint = None
    if session is not None:
        opened = source(session, incoming=True)
        endpoint = asked(opened)
        found = causes(opened.exchanges, opened.exchange, named, states)
    behind = None if named is None else backend(named, endpoint)
    if format_ is Format.json:
        write(documents.dumps(document(states, behind, found)))
    else:
        out().print(StatusReport(states, behind, found, session or ""))
