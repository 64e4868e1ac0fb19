"""One look for all reports: symbols, colours, numbers."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions
from rich.text import Text

__all__ = ["BAD", "DIM", "GOOD", "Symbols", "count", "line", "symbols"]

BAD = "red"
GOOD = "green"
DIM = "dim"


@dataclass(frozen=True, slots=True)
class Symbols:
    """The signs a report uses; none stands alone for a meaning."""

    bad: str = "✗"
    cost: str = "!"
    arrow: str = "→"
    ellipsis: str = "…"


def symbols(options: ConsoleOptions | Console) -> Symbols:
    """The signs that the terminal's encoding can show."""
    encoding = options.encoding.lower()
    return Symbols() if encoding.startswith("utf") else Symbols("x", "!", "->", "...")


def count(number: int, noun: str) -> str:
    """`1 block`, `2,345 blocks`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def line(*parts: str | tuple[str, str] | Text) -> Text:
    """A line of a report: never wrapped, cut where the terminal ends."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")
