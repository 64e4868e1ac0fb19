"""Where commands print: reports on stdout, the rest on stderr."""

import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

__all__ = ["err", "in_one_line", "out", "plain", "say", "write"]

_PIPE_WIDTH = 200


@cache
def out() -> "Console":
    """The console for reports."""
    return _console(stderr=False)


@cache
def err() -> "Console":
    """The console for progress, messages and errors."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> "Console":
    from rich.console import Console

    from cachediag.report.net import Net

    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    console.push_render_hook(Net())
    if not console.is_terminal:
        # Lines are cut at the width of a terminal; a file has none.
        console.width = _PIPE_WIDTH
    return console


def say(text: str) -> None:
    """Print a message on stderr in one line, whole however wide the terminal is.

    Args:
        text: it may hold what was captured, which is made safe.
    """
    from cachediag.report.safe import printable

    err().print(printable(text), soft_wrap=True)


def plain(text: str) -> "Text":
    """What is said beside a spinner, which would read the markup of a string.

    Args:
        text: it may hold what was captured, which is made safe.
    """
    from rich.text import Text

    from cachediag.report.safe import printable

    return Text(printable(text))


def in_one_line(text: "Text") -> "Group":
    """A report's line on its own, to be cut where the terminal ends.

    Rich joins what it is given bare, forgets how it was to end, and wraps it.
    """
    from rich.console import Group

    return Group(text)


def write(text: str) -> None:
    """Write a document to stdout as it is."""
    sys.stdout.write(text)
