"""How the schemas of a session look in a terminal: the answer, what to do, what each one is."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult

from cachediag.lint.linted import Linted
from cachediag.report.safe import printable
from cachediag.report.style import count, line

__all__ = ["LintReport"]


@dataclass(frozen=True, slots=True)
class LintReport:
    """A session's schemas, judged."""

    made: Linted
    name: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        schemas = count(len(self.made.collected.schemas), "schema")
        yield line((printable(self.name), "bold"), f"   {schemas}")
