"""Options and arguments that several commands share."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import err

if TYPE_CHECKING:
    from cachediag.render import Profile
    from cachediag.session.source import Source

__all__ = ["Format", "FormatOption", "ProfileOption", "SessionArgument", "chosen_profile", "source"]


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


def chosen_profile(spec: str | None) -> "Profile | None":
    """The profile that `--profile` names; None where it was left out."""
    from cachediag.render import profile

    return profile(spec) if spec else None
