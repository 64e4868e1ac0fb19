"""Options and arguments that several commands share."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import err

if TYPE_CHECKING:
    from cachediag.analysis.counting import Counting
    from cachediag.model import Endpoint
    from cachediag.session.source import Source

__all__ = [
    "Format",
    "FormatOption",
    "ModelOption",
    "ProfileOption",
    "SessionArgument",
    "asked",
    "counting_for",
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
        help="The backend whose prompt order counts: anthropic, generic, vllm-mlx@0.6.0, …",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|DIR",
        help="Tokenizer and chat template: qwen2.5, qwen3, …, or a local model directory.",
    ),
]
SessionArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[SESSION]",
        help="A recorded session's name, or any readable file; default: the newest recording.",
        show_default=False,
    ),
]


def source(session: str | None) -> "Source":
    """What a SESSION argument means.

    Raises:
        CachediagError: there is no such session, or it cannot be read.
    """
    from cachediag.capture.importers import open_source
    from cachediag.report.safe import printable
    from cachediag.session import library

    if session == "-":
        opened = open_source(session)
    else:
        opened = open_source(library.newest() if session is None else library.resolve(session))
    for note in opened.notes:
        err().print(f"note: {printable(note)}", soft_wrap=True)
    return opened


def asked(opened: "Source") -> "Endpoint":
    """What the first request to a model calls."""
    endpoints = (info.endpoint for info in opened.infos())
    models = ("messages", "chat", "responses")
    return next((each for each in endpoints if each in models), "messages")


def counting_for(opened: "Source", profile: str | None, model: str | None) -> "Counting":
    """What the tokens of a session are counted by."""
    from cachediag.analysis.counting import counting

    return counting(asked(opened), profile, model)
