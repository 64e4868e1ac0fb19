"""The arguments of commands that try a rule file on a session."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from cachediag.cli import completing
from cachediag.errors import UsageError

__all__ = ["Given", "GivenArgument", "given_files"]

GivenArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="[SESSION] RULES.toml",
        help="A recording, by default the newest, and the rule file.",
        show_default=False,
        autocompletion=completing.sessions_and_rules,
    ),
]


class Given(NamedTuple):
    """What the arguments name."""

    session: str | None
    """None for the newest recording."""
    file: Path
    """The rule file."""
    number: int | None = None
    """A request of the session."""


def given_files(words: Sequence[str], usage: str) -> Given:
    """Tell session, rule file and request number apart.

    The rule file is the argument that ends with `.toml`, the session what stands before it, the
    number what stands behind it.

    Args:
        words: the arguments.
        usage: how they are written, for the error.

    Raises:
        UsageError: there is no rule file, or too much else.
    """
    files = [at for at, word in enumerate(words) if word.endswith(".toml")]
    if len(files) != 1:
        what = "no rule file given" if not files else "more than one rule file given"
        raise UsageError(f"{what}: its name ends with .toml", remedy=usage)
    before, behind = words[: files[0]], words[files[0] + 1 :]
    if len(before) > 1 or len(behind) > 1:
        raise UsageError("too many arguments", remedy=usage)
    number = behind[0] if behind else None
    if number is not None and not (number.isascii() and number.isdigit()):
        raise UsageError(f"{number!r} is no request number", remedy=usage)
    return Given(
        before[0] if before else None,
        Path(words[files[0]]),
        None if number is None else int(number),
    )
