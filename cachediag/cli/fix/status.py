"""`cachediag fix status`: what is in place."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import out, write
from cachediag.cli.fix.patch import PythonOption, SiteOption
from cachediag.cli.options import Format, FormatOption, ProfileOption, asked, source

if TYPE_CHECKING:
    from cachediag.fix.status import Cause

__all__ = ["status"]


def status(  # noqa: PLR0917 - a parameter is an option
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="[SESSION]",
            help="A session whose causes are held against what is in place.",
            show_default=False,
            autocompletion=completing.sessions,
        ),
    ] = None,
    profile: ProfileOption = None,
    python: PythonOption = None,
    site: SiteOption = None,
    backend_url: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="URL",
            help="A running vllm-mlx, asked whether its patch is in force.",
            show_default=False,
        ),
    ] = None,
    format_: FormatOption = Format.text,
) -> None:
    """Say which fixes are in place: switches, backend, patch.

    Run it where the client is started: settings files of the project are looked for there.

    \b
    Examples:
      cachediag fix status
      cachediag fix status --profile vllm-mlx@0.6.0
      cachediag fix status stock --profile llama.cpp --format json
      cachediag fix status --backend http://127.0.0.1:8000
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.fix.patch import in_force, state_of
    from cachediag.fix.patch import named as installation
    from cachediag.fix.status import backend, causes, client
    from cachediag.fix.switches import clients
    from cachediag.render import profiles
    from cachediag.report import documents
    from cachediag.report.patch import InPlaceReport, in_place
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
    patch = state_of(installation(python, site)) if python or site else None
    force = in_force(backend_url) if backend_url else None
    if format_ is Format.json:
        write(documents.dumps(document(states, behind, found) | in_place(patch, force)))
        return
    if patch or force:
        out().print(InPlaceReport(patch, force))
    out().print(StatusReport(states, behind, found, session or ""))
