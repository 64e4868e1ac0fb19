"""How the findings catalogue looks in a terminal."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown
from rich.text import Text

from cachediag.findings import Page
from cachediag.report.diff import NEW_RULES
from cachediag.report.style import BAD, DIM, commands, line

__all__ = ["CatalogueReport", "PageReport"]

_STYLES = {"break": BAD, "cost": "yellow", "info": DIM}
_TEXT_WIDTH = 88


@dataclass(frozen=True, slots=True)
class CatalogueReport:
    """Every finding, a line each."""

    pages: tuple[Page, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        for page in self.pages:
            yield line(
                page.code, "  ", (f"{page.severity:<5}", _STYLES[page.severity]), "  ", page.title
            )
        yield Text()
        yield from commands({"cachediag explain V01": ""})


@dataclass(frozen=True, slots=True)
class PageReport:
    """One finding's page."""

    page: Page

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the heading and the text."""
        page = self.page
        yield line(
            (f"{page.code} {page.title}", "bold"), "   ", (page.severity, _STYLES[page.severity])
        )
        yield Text()
        width = min(options.max_width, _TEXT_WIDTH)
        yield from console.render(Markdown(page.text), options.update(width=width))
        if page.rule:
            yield Text()
            yield from commands({NEW_RULES: "write a rule that removes it"})
