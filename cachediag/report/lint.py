"""How the schemas of a session look in a terminal: the answer, what to do, what each one is."""

import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from cachediag.lint import support
from cachediag.lint.linted import Found, Linted
from cachediag.lint.verdicts import Outcome, Verdict
from cachediag.report.diff import evidence, spread, title
from cachediag.report.safe import printable
from cachediag.report.style import DIM, GOOD, Symbols, commands, count, line, symbols

__all__ = ["LintReport"]

_COST = "yellow"
_WIDTH = 76
_LONGEST_NAME = 30
_MOST_ROWS = 40
_MOST_FOUND = 30
_MOST_PLACES = 3


@dataclass(frozen=True, slots=True)
class LintReport:
    """A session's schemas, judged."""

    made: Linted
    name: str
    given: str = ""
    """How the session was named on the command line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        collected, signs = self.made.collected, symbols(options)
        held = count(len(collected.schemas), "schema")
        requests = count(len(collected.requests), "request")
        yield line((printable(self.name), "bold"), f"   {held} in {requests}")
        for request, problem in collected.problems.items():
            yield line((f"request {request} cannot be read: {printable(problem)}", DIM))
        yield Text()
        yield self._answer()
        yield Text()
        groups = _groups(self.made.costly)
        for group in groups[:_MOST_FOUND]:
            yield from _found(group, signs, options.max_width)
            yield Text()
        if len(groups) > _MOST_FOUND:
            left = count(len(groups) - _MOST_FOUND, "finding")
            yield line((f"and {left} more: --format json", DIM))
            yield Text()
        if collected.schemas:
            yield self._decoders()
            yield Text()
            yield from self._schemas(signs)
        yield from self._harmless()
        yield from commands(self._next())

    def _answer(self) -> Text:
        costly = self.made.costly
        if not self.made.collected.schemas and not costly:
            return line(("No request gives a schema: neither tools nor a response format.", DIM))
        if not costly:
            return line(("Nothing in these schemas costs tokens, time or a request.", GOOD))
        schemas = len({each.schema for each in costly if each.schema is not None})
        what = f" in {count(schemas, 'schema')}" if schemas else ""
        lost = sum(each.finding.tokens_lost or 0 for each in costly)
        again = f": {lost:,} tokens again" if lost else ""
        verb = "costs" if len(costly) == 1 else "cost"
        found = count(len(costly), "finding")
        return line(f"{found}{what} {verb} tokens, time or a request{again}.")

    def _decoders(self) -> Table:
        table = _table(("decoder", "compile", "ignore a keyword", "refuse", "release"))
        for number, name in enumerate(self.made.decoders):
            outcomes = Counter(each[number].outcome for each in self.made.verdicts)
            known = support.table(name)
            table.add_row(
                name,
                f"{outcomes['compiles']:,}",
                *(f"{outcomes[each]:,}" if outcomes[each] else "" for each in _OTHERS),
                Text(f"{known.version}, {known.date}", DIM),
            )
        return table

    def _schemas(self, signs: Symbols) -> Iterator[Table | Text]:
        """A row for each schema that some decoder does not simply compile."""
        rows = [
            (number, verdicts)
            for number, verdicts in enumerate(self.made.verdicts)
            if any(each.outcome != "compiles" for each in verdicts)
        ]
        if not rows:
            yield line("Every decoder compiles every schema.")
            yield Text()
            return
        table = _table(("schema", *self.made.decoders), right=False)
        for number, verdicts in rows[:_MOST_ROWS]:
            schema = self.made.collected.schemas[number]
            name = printable(schema.name or schema.home)
            if len(name) > _LONGEST_NAME:
                name = name[: _LONGEST_NAME - len(signs.ellipsis)] + signs.ellipsis
            table.add_row(name, *(_outcome(each) for each in verdicts))
        yield table
        others = len(self.made.verdicts) - min(len(rows), _MOST_ROWS)
        if others:
            compiled = len(rows) <= _MOST_ROWS
            what = "that every decoder compiles" if compiled else "more: --format json"
            yield line((f"and {others:,} {what}", DIM))
        yield Text()

    def _harmless(self) -> Iterator[Text]:
        quiet = [each for each in self.made.found if each.finding.severity == "info"]
        tallies = Counter(each.finding.code for each in quiet)
        if not tallies:
            return
        parts = [f"{code} {title(code)} ({number})" for code, number in sorted(tallies.items())]
        text = f"harmless: {', '.join(parts)}"
        for wrapped in textwrap.wrap(text, _WIDTH):
            yield line((wrapped, DIM))
        yield Text()

    def _next(self) -> dict[str, str]:
        found = self.made.found
        first = found[0].finding.code if found else "G01"
        given = f" {printable(self.given)}" if self.given else ""
        steps = {f"cachediag explain {first}": "what it is and what to do"}
        if self.made.collected.schemas:
            steps[f"cachediag lint{given} --costs"] = "what they take to compile"
        return steps


_OTHERS: Final[tuple[Outcome, ...]] = ("ignores", "rejects")


def _table(names: tuple[str, ...], *, right: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=DIM)
    for number, name in enumerate(names):
        numeric = right and 0 < number < len(names) - 1
        table.add_column(name, justify="right" if numeric else "left", no_wrap=True)
    return table


def _outcome(made: Verdict) -> Text:
    if made.outcome == "compiles":
        return Text("compiles", DIM)
    if made.outcome == "ignores":
        return Text(f"ignores {len(made.ignored):,}", _COST)
    return Text("refuses" if made.outcome == "rejects" else "unknown", "red")


def _groups(found: tuple[Found, ...]) -> list[list[Found]]:
    """What says the same of several places, together."""
    groups: dict[tuple[str, str], list[Found]] = {}
    for each in found:
        groups.setdefault((each.finding.code, each.finding.message), []).append(each)
    return list(groups.values())


def _found(group: list[Found], signs: Symbols, width: int) -> Iterator[Text]:
    found = group[0].finding
    lost = "" if found.tokens_lost is None else f"costs {count(found.tokens_lost, 'token')}   "
    head = f"{signs.cost} {found.code} {title(found.code)}"
    yield spread((head, _COST), f"{lost}{found.confidence}", width)
    for each in group[:_MOST_PLACES]:
        path = printable(each.finding.path or "")
        yield line("  ", (f"{path}, request {each.request}", DIM))
    if len(group) > _MOST_PLACES:
        yield line("  ", (f"and {count(len(group) - _MOST_PLACES, 'place')} more", DIM))
    yield from evidence(found.before, found.after if found.before else None, signs)
    if found.before is None and found.after is not None and found.after.text:
        yield line("    ", printable(found.after.text).replace("…", signs.ellipsis))
    for wrapped in textwrap.wrap(printable(found.message), _WIDTH):
        yield line("  ", wrapped)
    if found.fix:
        yield line("  ", ("fix   ", GOOD), printable(found.fix))
