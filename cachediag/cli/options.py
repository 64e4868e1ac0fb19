"""Options and arguments that several commands share."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import err

if TYPE_CHECKING:
    from cachediag.analysis.choice import Choice
    from cachediag.analysis.counting import Counting
    from cachediag.backends.recorded import Recorded
    from cachediag.model import Endpoint
    from cachediag.session.source import Source

__all__ = [
    "Format",
    "FormatOption",
    "IncomingOption",
    "ModelOption",
    "ProfileOption",
    "SessionArgument",
    "asked",
    "choice_for",
    "chosen",
    "counting_for",
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
    from cachediag.report.safe import printable
    from cachediag.report.style import count
    from cachediag.session import Outgoing, library

    if session == "-":
        opened = open_source(session)
    else:
        opened = open_source(library.newest() if session is None else library.resolve(session))
    for note in opened.notes:
        err().print(f"note: {printable(note)}", soft_wrap=True)
    if incoming:
        return opened
    outgoing = Outgoing(opened)
    if changed := outgoing.changed:
        err().print(
            f"note: {count(changed, 'request')} went on to the server changed; this is what went on"
            " (--incoming: what came in)",
            soft_wrap=True,
        )
    return outgoing


def asked(opened: "Source") -> "Endpoint":
    """What the first request to a model calls."""
    endpoints = (info.endpoint for info in opened.infos())
    models = ("messages", "chat", "responses")
    return next((each for each in endpoints if each in models), "messages")


def recorded(opened: "Source", profile: str | None) -> "Recorded | None":
    """The backend that a session was recorded from, where it counts: no other profile is named."""
    from cachediag.backends.recorded import from_meta
    from cachediag.session import Outgoing, Session

    session = opened.source if isinstance(opened, Outgoing) else opened
    if profile is not None or not isinstance(session, Session):
        return None
    return from_meta(session.meta, asked(opened))


def chosen(
    opened: "Source", profile: str | None, engine: str | None = None
) -> tuple[str | None, str | None]:
    """The profile and the cache that count: those that were named, or else the backend's own."""
    known = recorded(opened, profile)
    return (profile, engine) if known is None else (known.profile, engine or known.engine)


def choice_for(
    opened: "Source",
    profile: str | None,
    model: str | None,
    *,
    engine: str | None = None,
    tokenizer: str | None = None,
) -> "Choice":
    """What a session is analysed by; see `choose`, and `chosen` for what is not named."""
    from cachediag.analysis.choice import choose

    profile_spec, engine_spec = chosen(opened, profile, engine)
    return choose(
        asked(opened),
        profile_spec=profile_spec,
        model_spec=model,
        tokenizer_spec=tokenizer,
        engine_spec=engine_spec,
    )


def counting_for(opened: "Source", profile: str | None, model: str | None) -> "Counting":
    """What the tokens of a session are counted by."""
    from cachediag.analysis.counting import counting

    return counting(asked(opened), chosen(opened, profile)[0], model)
