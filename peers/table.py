"""The outcome as rows: for the terminal, and for the documentation."""

from collections.abc import Iterable, Sequence

from rich.table import Table

from peers.score import Score

__all__ = ["HEADINGS", "rows", "table"]

HEADINGS = (
    "tool",
    "version",
    "words",
    "cases with a cause",
    "found",
    "place right",
    "near-misses",
    "false alarms",
    "without markers",
    "time",
)


def rows(scores: Sequence[Score], times: Sequence[float]) -> list[tuple[str, ...]]:
    """A row a tool.

    Args:
        scores: of each tool.
        times: the seconds that each takes for the same case; told against the first tool's.
    """
    return [
        (
            each.tool.name,
            each.tool.version,
            str(sum(1 for codes in each.tool.words.values() if codes)),
            str(each.causes),
            str(each.found),
            f"{each.placed} of {each.placeable}",
            str(each.quiet),
            str(each.false_alarms),
            "" if each.bare_alarms is None else str(each.bare_alarms),
            f"{time / times[0]:.1f} ×",
        )
        for each, time in zip(scores, times, strict=True)
    ]


def table(lines: Iterable[Sequence[str]]) -> Table:
    """The rows as they are printed."""
    made = Table(box=None, pad_edge=False, header_style="dim")
    for number, heading in enumerate(HEADINGS):
        made.add_column(heading, justify="left" if number < 2 else "right")
    for line in lines:
        made.add_row(*line)
    return made
