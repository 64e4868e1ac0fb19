"""One look for all reports: symbols, colours, numbers."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

__all__ = [
    "BAD",
    "DIM",
    "GOOD",
    "Paragraph",
    "Symbols",
    "commands",
    "count",
    "line",
    "symbols",
]

BAD = "red"
GOOD = "green"
DIM = "dim"

_WIDTH = 80


@dataclass(frozen=True, slots=True)
class Symbols:
    """The signs a report uses; none stands alone for a meaning."""

    bad: str = "✗"
    cost: str = "!"
    arrow: str = "→"
    ellipsis: str = "…"
    plus_minus: str = "±"
    shades: tuple[str, str, str] = ("█", "▒", "░")
    """Of the parts of a bar, the first to last."""


def symbols(options: ConsoleOptions | Console) -> Symbols:
    """The signs that the terminal's encoding can show."""
    encoding = options.encoding.lower()
    if encoding.startswith("utf"):
        return Symbols()
    return Symbols("x", "!", "->", "...", "+-", ("#", "x", "."))


def count(number: int, noun: str) -> str:
    """`1 block`, `2,345 blocks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def line(*parts: str | tuple[str, str] | Text) -> Text:
    """A line of a report: never wrapped, cut where the terminal ends."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def commands(purposes: Mapping[str, str]) -> Iterator[Text]:
    """The commands to go on with, and what each is for, where there is room for that."""
    width = max(map(len, purposes))
    fits = 7 + width + 3 + max(map(len, purposes.values())) <= _WIDTH
    for number, (command, purpose) in enumerate(purposes.items()):
        label = (f"{'' if number else 'next':<7}", GOOD)
        # A command that is cut off is none: on a narrow terminal it wraps.
        if fits and purpose:
            yield Text.assemble(label, f"{command:<{width}}   ", (purpose, DIM))
        else:
            yield Text.assemble(label, command)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences, wrapped at 80 columns or less."""

    text: str
    style: str = ""
    indent: str = ""
    """What all lines but the first begin with."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        width = min(options.max_width, _WIDTH)
        for wrapped in textwrap.wrap(self.text, width, subsequent_indent=self.indent):
            yield line((wrapped, self.style))
