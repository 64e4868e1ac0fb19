"""Options and arguments that several commands share."""

import os
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import say
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from cachediag.analysis.choice import Choice
    from cachediag.analysis.counting import Counting
    from cachediag.backends.recorded import Recorded
    from cachediag.model import Endpoint
    from cachediag.session.source import Source

__all__ = [
    "Format",
    "FormatOption",
    "HeaderOption",
    "IncomingOption",
    "ModelOption",
    "ProfileOption",
    "SessionArgument",
    "as_words",
    "asked",
    "choice_for",
    "chosen",
    "counting_for",
    "headers",
    "recorded",
    "source",
]


class Format(StrEnum):
    """How a report is printed."""

    text = "text"
    json = "json"


FormatOption = Annotated[
    Format, typer.Option("--format", help="Print for people, or one JSON document.")
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME[@VERSION]",
        autocompletion=completing.profiles,
        help="The backend whose prompt order counts: anthropic, generic, vllm-mlx@0.6.0, …",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|DIR",
        autocompletion=completing.tokenizers,
        help="Tokenizer and chat template: qwen2.5, qwen3, …, or a local model directory.",
    ),
]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A header to send; the value env:KEY is read from the variable KEY. May be given"
        " several times.",
        show_default=False,
    ),
]
IncomingOption = Annotated[
    bool,
    typer.Option(
        "--incoming",
        help="Look at what the client sent, where rules changed what went on to the server.",
    ),
]
SessionArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[SESSION]",
        help="A recorded session's name, or any readable file; default: the newest recording.",
        show_default=False,
        autocompletion=completing.sessions,
    ),
]


def source(session: str | None, *, incoming: bool = False) -> "Source":
    """What a SESSION argument means: its requests as they went on to the server.

    Args:
        session: as given.
        incoming: the requests as the client sent them instead.

    Raises:
        CachediagError: there is no such session, or it cannot be read.
    """
    from cachediag.capture.importers import open_source
    from cachediag.report.style import count
    from cachediag.session import Outgoing, library

    if session == "-":
        opened = open_source(session)
    else:
        opened = open_source(library.newest() if session is None else library.resolve(session))
    for note in opened.notes:
        say(f"note: {note}")
    if incoming:
        return opened
    outgoing = Outgoing(opened)
    if changed := outgoing.changed:
        say(
            f"note: {count(changed, 'request')} went on to the server changed; this is what went on"
            " (--incoming: what came in)"
        )
    return outgoing


def as_words(options: Mapping[str, str | None]) -> Iterator[str]:
    """The options that were given, as words of a command."""
    for option, value in options.items():
        if value is not None:
            yield from (option, value)


def asked(opened: "Source") -> "Endpoint":
    """What the first request to a model calls."""
    from cachediag.backends import choosing

    return choosing.asked(opened)


def recorded(opened: "Source", profile: str | None) -> "Recorded | None":
    """The backend that a session was recorded from, where it counts: no other profile is named."""
    from cachediag.backends import choosing

    return choosing.recorded(opened, profile)


def chosen(opened: "Source", profile: str | None) -> tuple[str | None, str | None]:
    """The profile and the cache that count: those that were named, or else the backend's own."""
    from cachediag.backends import choosing

    return choosing.chosen(opened, profile)


def choice_for(
    opened: "Source",
    profile: str | None,
    model: str | None,
    *,
    engine: str | None = None,
    tokenizer: str | None = None,
) -> "Choice":
    """What a session is analysed by."""
    from cachediag.backends import choosing

    return choosing.choice_for(opened, profile, model, engine=engine, tokenizer=tokenizer)


def counting_for(opened: "Source", profile: str | None, model: str | None) -> "Counting":
    """What the tokens of a session are counted by."""
    from cachediag.backends import choosing

    return choosing.counting_for(opened, profile, model)


def headers(given: Sequence[str]) -> dict[str, str]:
    """What `--header` says, values of variables filled in.

    Raises:
        UsageError: it is not written NAME=VALUE, or the variable is not set.
    """
    made = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not name or not sign:
            raise UsageError("a header is written NAME=VALUE", where="--header")
        if value.startswith("env:"):
            variable = value.removeprefix("env:")
            if variable not in os.environ:
                raise UsageError(f"the variable {variable} is not set", where=f"--header {name}")
            value = os.environ[variable]
        made[name.lower()] = value
    return made
