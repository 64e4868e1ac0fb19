"""The net below the reports: what they forgot to make safe does not reach a terminal either."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

from cachediag.report.safe import printable

__all__ = ["Net"]


class Net(RenderHook):
    """Makes safe whatever a console prints, but for line ends and what rich itself controls.

    Reports make captured text safe themselves, for then it takes other room, and a line end in it
    is none.
    """

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Have the text of each made safe as it is rendered."""
        return [_Safe(each) for each in renderables]


@dataclass(frozen=True, slots=True)
class _Safe:
    inner: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.inner, options):
            if segment.control:
                yield segment
            else:
                lines = map(printable, segment.text.split("\n"))
                yield Segment("\n".join(lines), segment.style)
