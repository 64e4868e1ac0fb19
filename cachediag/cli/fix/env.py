"""`cachediag fix env`: the client's own switches for what was found."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import out, write
from cachediag.cli.options import (
    Format,
    FormatOption,
    ModelOption,
    ProfileOption,
    SessionArgument,
    as_words,
    choice_for,
    source,
)
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from cachediag.fix.offers import Offers
    from cachediag.fix.settings import Written
    from cachediag.fix.switches import Client

__all__ = ["env"]


def env(  # noqa: PLR0917 - a parameter is an option
    session: SessionArgument = None,
    profile: ProfileOption = None,
    model: ModelOption = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:k=v]",
            help="The cache whose own rules count; by default the profile's.",
            autocompletion=completing.engines,
        ),
    ] = None,
    settings: Annotated[
        bool, typer.Option("--settings", help="Print a fragment of a settings file instead.")
    ] = False,
    write_: Annotated[
        bool,
        typer.Option(
            "--write", help="Set the switches in a settings file, keeping all else in it."
        ),
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back what --write set; looks at no session.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The settings file, such as .claude/settings.local.json; by default the user's.",
            show_default=False,
        ),
    ] = None,
    format_: FormatOption = Format.text,
) -> None:
    """Print the switches of clients that remove what was found.

    They are printed as shell lines. Only switches of the client that was recorded are given; where
    there is none, that is said.

    \b
    Examples:
      eval "$(cachediag fix env)"
      cachediag fix env stock --profile vllm-mlx@0.6.0 --settings
      cachediag fix env --write --file .claude/settings.local.json
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.report import documents
    from cachediag.report.switches import document, fragment, script

    if settings + write_ + undo > 1:
        raise UsageError("give one of --settings, --write and --undo")
    if settings and format_ is Format.json:
        raise UsageError("--settings is JSON of its own", remedy="Leave --format json out.")
    if file is not None and not (write_ or undo):
        raise UsageError("--file goes with --write or --undo")
    if undo:
        _undo(file, format_)
        return
    name, found = _found(session, profile, model, engine)
    options = {"--profile": profile, "--model": model, "--engine": engine}
    given = shlex.join([*([session] if session else []), *as_words(options)])
    if write_:
        _write(found, name, given, file, format_)
    elif settings:
        write(fragment(found))
    elif format_ is Format.json:
        write(documents.dumps(document(found, name, None, None)))
    else:
        write(script(found, name, given))


def _found(
    session: str | None, profile: str | None, model: str | None, engine: str | None
) -> "tuple[str, Offers]":
    from cachediag.analysis.analyze import analyse
    from cachediag.fix.offers import offers

    # What a client can be told is about what it sends, not about what rules make of it.
    opened = source(session, incoming=True)
    choice = choice_for(opened, profile, model, engine=engine)
    found = offers(analyse(opened.exchanges(), opened.exchange, choice), opened.exchange)
    return opened.name, found


def _client() -> "Client":
    from cachediag.fix.switches import clients

    return next(client for client in clients() if client.files)


def _place(client: "Client", file: Path | None) -> Path:
    return file or client.file("user").place(os.environ, Path.cwd())


def _write(found: "Offers", name: str, given: str, file: Path | None, format_: Format) -> None:
    from cachediag.fix import settings
    from cachediag.report import documents
    from cachediag.report.switches import WrittenReport, document, script

    client = _client()
    path = _place(client, file)
    switches = {
        offer.switch.name: offer.switch for offer in found.offers if offer.sender.client is client
    }
    done: Written | None = None
    if switches:
        values = {key: switch.value for key, switch in switches.items()}
        done = settings.write(path, values, lambda key, value: switches[key].is_on(value))
    if format_ is Format.json:
        write(documents.dumps(document(found, name, done, path)))
    elif done is None:
        write(script(found, name, given))
    else:
        out().print(WrittenReport(done, client.name, client.reads_comments, file))


def _undo(file: Path | None, format_: Format) -> None:
    from cachediag.fix import settings
    from cachediag.report import documents
    from cachediag.report.switches import UndoneReport, document

    path = _place(_client(), file)
    undone = settings.undo(path)
    if format_ is Format.json:
        write(documents.dumps(document(None, None, undone, path)))
    else:
        out().print(UndoneReport(path, undone))
