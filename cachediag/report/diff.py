"""How a comparison looks in a terminal: the answer, the evidence, the next command."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from cachediag import findings as catalogue
from cachediag.analysis.tokenview import TokenView
from cachediag.compare import Comparison
from cachediag.model import Excerpt, Finding
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, Symbols, count, line, symbols

__all__ = [
    "NEW_RULES",
    "DiffReport",
    "FindingReport",
    "evidence",
    "harmless_line",
    "spread",
    "title",
]


@dataclass(frozen=True, slots=True)
class FindingReport:
    """One finding with its evidence."""

    finding: Finding
    extra: str = ""
    """What stands at the end of the first line instead of the confidence."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the finding's lines."""
        found, signs = self.finding, symbols(options)
        is_break = found.severity == "break"
        style = BAD if is_break else "yellow"
        head = f"{signs.bad if is_break else signs.cost} {found.code} {title(found.code)}"
        lost = "" if found.tokens_lost is None else f"costs {count(found.tokens_lost, 'token')}   "
        yield spread((head, style), self.extra or f"{lost}{found.confidence}", options.max_width)
        place = [printable(found.path)] if found.path else []
        place += [f"byte {found.byte:,} of the body"] if found.byte is not None else []
        if place:
            yield line("  ", (", ".join(place), DIM))
        yield from evidence(found.before, found.after, signs)
        yield line("  ", printable(found.message))
        page = catalogue.load(found.code)
        fixes = [NEW_RULES if page.rule else "", found.fix or page.fix]
        for number, fix in enumerate(filter(None, fixes)):
            yield line("  ", ("or    " if number else "fix   ", GOOD), printable(fix))


NEW_RULES = "cachediag rules new -o rules.toml"


def title(code: str) -> str:
    """What the catalogue calls a code."""
    return catalogue.load(code).title


def spread(left: tuple[str, str], right: str, width: int) -> Text:
    """A line with something at its end, within 80 columns."""
    gap = max(2, min(width, 80) - len(left[0]) - len(right))
    return line(left, " " * gap, (right, DIM))


def evidence(before: Excerpt | None, after: Excerpt | None, signs: Symbols) -> Iterator[Text]:
    """The two sides of a change, with a mark below what changed."""
    if before is not None:
        yield line("  ", _marked("- ", before, BAD, signs))
    if after is not None:
        yield line("  ", _marked("+ ", after, GOOD, signs))
    if before is not None and after is not None:
        head, changed, _ = _parts(after, signs)
        if head.strip() and changed:
            yield line("    ", " " * len(head), ("^" * len(changed), DIM))


def _marked(sign: str, excerpt: Excerpt, style: str, signs: Symbols) -> Text:
    head, changed, tail = _parts(excerpt, signs)
    return Text.assemble((sign, style), head, (changed, f"bold {style}"), tail)


def _parts(excerpt: Excerpt, signs: Symbols) -> tuple[str, str, str]:
    """What stands before the change, the change, and what follows, fit to print."""
    text, start, end = excerpt.text, excerpt.start, excerpt.end
    head, changed, tail = (
        printable(part).replace("…", signs.ellipsis)
        for part in (text[:start], text[start:end], text[end:])
    )
    return head, changed, tail


def harmless_line(comparison: Comparison) -> str:
    """The harmless differences in one line."""
    parts = [
        _harmless_part(found)
        for found in comparison.findings
        if found.severity == "info" and found.code != "N02"
    ]
    return ", ".join([*parts, *comparison.other_fields])


_HARMLESS = {
    "E02": "spelled with escapes",
    "E03": "string for a text block",
    "E04": "number spelled anew",
    "M01": "marker moved",
    "O02": "order of keys",
}


def _harmless_part(found: Finding) -> str:
    if found.code == "N01":
        return f"{found.message.partition(': ')[2].rstrip('.')} appended (N01)"
    return f"{_HARMLESS.get(found.code) or title(found.code)} ({found.code})"


@dataclass(frozen=True, slots=True)
class DiffReport:
    """Two requests held against each other."""

    comparison: Comparison
    heading: str
    """What was compared: `request 0 → 2   lane main`."""
    view: TokenView | None = None
    calibrated_usages: int = 0
    """How many reported usages the counts were calibrated on."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        c = self.comparison
        heading = self.heading.replace("→", symbols(options).arrow)
        sure = "" if self.view is None else "   exact" if self.view.exact else "   estimate"
        yield line((printable(heading), "bold"), "   ", (f"{c.profile}{sure}", DIM))
        if self.calibrated_usages:
            usages = count(self.calibrated_usages, "reported usage")
            yield line((f"tokens calibrated on {usages}", DIM))
        yield Text()
        yield from self._answer()
        yield Text()
        shown = [found for found in c.findings if found.severity != "info"]
        for found in shown:
            yield FindingReport(found, self._extra(found))
            yield Text()
        if c.breaks:
            yield line(self._without())
        harmless = harmless_line(c)
        if harmless:
            yield Text(f"harmless: {printable(harmless)}", DIM)
        yield Text()
        yield self._blocks()
        yield line((self._raw(), DIM))

    def _extra(self, found: Finding) -> str:
        """What a cause costs that stands behind another, so that alone it costs nothing."""
        gained = dict(self.view.steps) if self.view else {}
        further = gained.get((found.code, found.path), 0)
        hidden = found.tokens_lost == 0 and further > 0
        return f"{further:,} tokens more, once those above are undone" if hidden else ""

    def _answer(self) -> Iterator[Text]:
        c, view = self.comparison, self.view
        blocks = count(c.a.block_count, "block")
        if c.breaks:
            first = c.breaks[0]
            place = f", in {printable(first.path)}" if first.path else ""
            if view is None:
                yield line(f"The shared prefix ends after {c.shared_blocks:,} of {blocks}{place}.")
            else:
                yield line(f"The shared prefix ends at token {view.shared:,} of {view.a:,}{place}.")
            return
        tokens = "" if view is None else f", {view.shared:,} of {view.b:,} tokens"
        if c.b.block_count >= c.a.block_count:
            yield line((f"The whole earlier prompt is shared: all {blocks}{tokens}.", GOOD))
        else:
            yield line(
                (f"The whole prompt is shared: {count(c.b.block_count, 'block')}{tokens}.", GOOD)
            )

    def _without(self) -> str:
        c, view = self.comparison, self.view
        them = "it" if len(c.breaks) == 1 else "them"
        if view is not None:
            what = "all" if view.reusable == view.a else f"{view.reusable:,} of"
            return f"Without {them} {what} {view.a:,} earlier tokens would be shared."
        total = c.a.block_count
        what = "all" if c.reusable_blocks == total else f"{c.reusable_blocks:,} of"
        return f"Without {them} {what} {count(total, 'earlier block')} would be shared."

    def _blocks(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=DIM)
        table.add_column("blocks", min_width=9)
        for name in ("same", "changed", "gone", "new"):
            table.add_column(name, justify="right")
        for stretch in self.comparison.stretches:
            inside = stretch.entries
            tallies = (
                stretch.head_blocks + sum(bool(e.a and e.b and not e.changes) for e in inside),
                sum(bool(e.changes) for e in inside),
                sum(e.b is None for e in inside),
                sum(e.a is None for e in inside),
            )
            counts = (f"{tally:,}" if tally else "" for tally in tallies)
            table.add_row(stretch.section, *counts)
        return table

    def _raw(self) -> str:
        c = self.comparison
        sizes = f"{len(c.a.body):,} and {len(c.b.body):,}"
        if c.first_difference is None:
            return f"raw bytes  the same, {len(c.b.body):,}"
        path = f", {printable(c.first_path)}" if c.first_path else ""
        return f"raw bytes  {sizes}, first difference at {c.first_difference:,}{path}"
