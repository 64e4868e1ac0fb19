"""How the costs of grammars look in a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from cachediag.extras import install
from cachediag.lint.checks.changing import Change
from cachediag.lint.grammar.changed import Compiled, compiled
from cachediag.lint.grammar.child import Result
from cachediag.lint.grammar.costs import Costs, EngineCosts, OneMore, SchemaCost
from cachediag.lint.live import Probed, Probes
from cachediag.lint.schemas import Collected, Schema
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, Paragraph, count, line, symbols

__all__ = ["CostsReport", "LiveReport"]

_MOST = 10
_WORDS = ("", "warnings", "the server said")


@dataclass(frozen=True, slots=True)
class CostsReport:
    """What a session's schemas cost to compile, engine by engine."""

    costs: Costs
    collected: Collected
    name: str
    changes: Sequence[Change] = ()
    """How the tools change within the session."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        schemas = count(len(self.collected.schemas), "schema")
        yield line(
            (printable(self.name), "bold"),
            f"   {schemas}   tokenizer {printable(self.costs.tokenizer)}",
        )
        for engine in self.costs.engines:
            yield Text()
            yield line(
                (f"{engine.engine} {engine.version}", "bold"),
                f"   calls as {engine.syntax}   loaded in {engine.load_seconds:.1f} s",
            )
            yield from self._engine(engine, options)
        for missing in self.costs.missing:
            yield Text()
            yield line((f"{missing} is not installed: {install('grammar')}", DIM))

    def _engine(self, engine: EngineCosts, options: ConsoleOptions) -> Iterator[RenderableType]:
        if engine.groups:
            yield Text()
            yield _groups(engine)
        if engine.one_more is not None:
            yield Text()
            yield Paragraph(_one_more(engine.one_more))
        if any(len(group.requests) > 1 for group in engine.groups) or len(engine.groups) > 1:
            yield Paragraph(
                f"The whole session: {_time(engine.anew_seconds)} with a new compiler for each"
                f" request, {_time(engine.kept_seconds)} with one that is kept."
            )
        if self.changes:
            yield Text()
            yield _changes(compiled(self.changes, engine))
        if engine.schemas:
            yield Text()
            yield from self._ranking(engine.schemas, options)

    def _ranking(
        self, schemas: Sequence[SchemaCost], options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        failed = [each for each in schemas if each.result.outcome != "compiled"]
        for each in failed:
            schema = self.collected.schemas[each.schema]
            yield line(
                (f"{symbols(options).bad} {each.result.outcome}", BAD),
                f"  {_title(schema)}: {printable(each.result.message or '')}",
            )
        ranked = [each for each in schemas if each.result.outcome == "compiled"]
        ranked.sort(key=lambda each: each.result.seconds or 0.0, reverse=True)
        if ranked:
            table = _table("schema, the costliest first", "alone", "size", "warnings")
            for each in ranked[:_MOST]:
                result = each.result
                table.add_row(
                    _title(self.collected.schemas[each.schema]),
                    _taken(result),
                    _bytes(result.size),
                    printable("; ".join(result.warnings)),
                )
            yield table
        if len(ranked) > _MOST:
            yield line((f"and {count(len(ranked) - _MOST, 'more')[:-1]}", DIM))


@dataclass(frozen=True, slots=True)
class LiveReport:
    """A backend, probed with a session's schemas."""

    probes: Probes
    schemas: Sequence[Schema]
    name: str
    backend: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        probes = self.probes
        yield line((printable(self.name), "bold"), f"   {printable(self.backend)}")
        yield line(
            (
                f"a plain request takes {_time(probes.plain)}; each probe may take"
                f" {_time(probes.deadline)}",
                DIM,
            )
        )
        yield Text()
        table = _table("schema", "", "first token", "whole", "the server said")
        for each in probes.probed:
            table.add_row(
                _title(self.schemas[each.schema]),
                Text(each.state, GOOD if each.state == "answered" else BAD),
                "-" if each.first_token is None else _time(each.first_token),
                _time(each.seconds),
                printable(each.message or ""),
            )
        yield table
        for each in probes.probed:
            if each.recovered is not None:
                yield Paragraph(
                    f"{self._named(each)}: the next request was answered"
                    f" {_time(each.recovered)} later."
                )
        if probes.stopped:
            last = probes.probed[-1]
            left = len(self.schemas) - len(probes.probed)
            rest = f" {count(left, 'schema')} not sent." if left else ""
            yield Text()
            yield Paragraph(
                f"{self._named(last)}: the server answers no request after it. It was not"
                f" waited for any longer.{rest}",
                BAD,
            )

    def _named(self, probed: Probed) -> str:
        return _title(self.schemas[probed.schema])


def _title(schema: Schema) -> str:
    """A schema's name, fit for a terminal, and where it stands."""
    named = printable(schema.name) if schema.name else schema.kind
    return f"{named} ({schema.request}: {printable(schema.home)})"


def _groups(engine: EngineCosts) -> Table:
    table = _table("requests", "tools", "new", "new compiler", "kept", "again", "size", "cache")
    for group in engine.groups:
        table.add_row(
            _numbers(group.requests),
            f"{len(group.tools):,}",
            f"{group.new:,}",
            _taken(group.fresh),
            _taken(group.reused),
            _taken(group.repeat),
            _bytes(group.fresh.size),
            _bytes(group.reused.cache if group.reused else None),
        )
    return table


def _changes(changes: Sequence[Compiled]) -> Table:
    table = _table("what changes", "requests", "tokens again", "new compiler", "kept")
    for each in changes:
        found = each.change.found
        table.add_row(
            f"{found.code}  {printable(found.path or '')}",
            f"{len(each.change.requests):,}",
            f"{each.change.tokens:,}",
            "-" if each.fresh is None else _time(each.fresh),
            "-" if each.kept is None else _time(each.kept),
        )
    return table


def _one_more(found: OneMore) -> str:
    times = found.fresh / found.shared if found.shared else 0.0
    return (
        f"With one new tool among {found.tools}: {_time(found.fresh)} on a new compiler,"
        f" {_time(found.shared)} on one that knows the others, {times:.1f} times less."
    )


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=DIM)
    for number, head in enumerate(heads):
        left = number == 0 or head in _WORDS
        table.add_column(head, justify="left" if left else "right", no_wrap=True)
    return table


def _numbers(requests: Sequence[int]) -> str:
    """`0–4, 7`, and how many more there are."""
    runs: list[list[int]] = []
    for number in requests:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    told = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    more = f", … ({len(requests)})" if len(told) > 3 else ""
    return ", ".join(told[:3]) + more


def _taken(result: Result | None) -> str:
    if result is None:
        return "-"
    return result.outcome if result.seconds is None else _time(result.seconds)


def _time(seconds: float) -> str:
    """Two figures or three: `12.4 s`, `0.24 s`, `3.1 ms`."""
    if seconds < 0.1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s"


def _bytes(size: int | None) -> str:
    if size is None:
        return "-"
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"
