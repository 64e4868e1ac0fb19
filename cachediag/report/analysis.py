"""How an analysis looks in a terminal: a line a request, the ranked causes, what to do."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.analysis.analyze import Analysed, Analysis
from cachediag.analysis.whatif import Arm
from cachediag.report.diff import title
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, count, line, symbols

__all__ = ["AnalysisReport", "request_row", "rows_head"]

_BAR = 24
# A smaller share is the template's own opening words.
_SMALL = 0.01
_POLICY = "the engine keeps no more"


def rows_head(options: Console | ConsoleOptions) -> Text:
    """The heading of the list of requests."""
    reused, avoidable, new = _shades(options)
    bar = f"{reused} reused {avoidable} again {new} new"
    return line((f"{'#':>3}  {'lane':<9}  {'kind':<10}  {'prompt':>7}  {bar:<{_BAR}}  cause", DIM))


def request_row(request: Analysed, options: Console | ConsoleOptions) -> Text:
    """One request: its tokens, a bar of what became of them, and the first cause."""
    head = (
        f"{request.info.index:>3}  {printable(request.lane)[:9]:<9}  "
        f"{printable(request.kind):<10}  {request.prompt_tokens:>7,}  "
    )
    return line(head, _bar(request, options), "  ", _cause(request, options))


def _shades(options: Console | ConsoleOptions) -> tuple[str, str, str]:
    return ("█", "▒", "░") if options.encoding.lower().startswith("utf") else ("#", "x", ".")


def _bar(request: Analysed, options: Console | ConsoleOptions) -> Text:
    total = request.prompt_tokens
    if not total:
        return Text(" " * _BAR)
    reused, avoidable, new = _shades(options)
    first = round(_BAR * request.reused_tokens / total)
    second = round(_BAR * (request.reused_tokens + request.avoidable_tokens) / total) - first
    return Text.assemble(
        (reused * first, GOOD), (avoidable * second, BAD), (new * (_BAR - first - second), DIM)
    )


def _cause(request: Analysed, options: Console | ConsoleOptions) -> Text:
    if request.problem is not None:
        return Text(f"! {printable(request.problem)}", "yellow")
    if request.kind == "count":
        return Text("prefills nothing", DIM)
    if request.blamed:
        code, path, tokens = max(request.blamed, key=lambda row: row[2])
        if tokens < _SMALL * request.prompt_tokens:
            return Text("")
        if code == "-":
            return Text(_POLICY, DIM)
        return Text(f"{symbols(options).bad} {code} {printable(path or title(code))}", BAD)
    return Text("")


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """A session in tokens."""

    analysis: Analysis
    session: str
    what_if: tuple[Arm, ...] = ()
    given: str = ""
    """How to name the session in the next command."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        a = self.analysis
        lanes = len({request.lane for request in a.requests})
        sure = "exact" if a.exact else "estimate"
        yield line(
            (printable(self.session), "bold"),
            f"   {count(len(a.requests), 'request')}   {count(lanes, 'lane')}",
        )
        yield line(
            (f"profile {a.profile}   tokens {printable(a.model)}   cache {a.engine}   {sure}", DIM)
        )
        yield Text()
        yield rows_head(options)
        for request in a.requests:
            yield request_row(request, options)
        yield Text()
        yield line(f"hit rate {a.hit_rate:.1%}, could be {a.hit_rate_ceiling:.1%}")
        yield Text()
        yield from self._causes()
        yield from self._what_if(options)
        yield from self._conclusion()

    def _causes(self) -> Iterator[Text]:
        a = self.analysis
        if not a.causes:
            return
        rate = a.prefill_rate
        timed = f"at {rate:,.0f} tok/s" if rate else ""
        yield line((f"{'causes':<44}  {'requests':>8}  {'tokens again':>12}  {timed:>10}", DIM))
        for cause in a.causes:
            named = (
                "what the engine does not keep"
                if cause.code == "-"
                else (f"{cause.code} {title(cause.code)}  {printable(cause.path or '')}")
            )
            named = named if len(named) <= 44 else f"{named[:43]}…"
            time = f"{_duration(cause.tokens_lost / rate):>10}" if rate else ""
            yield line(f"{named:<44}  {cause.requests:>8,}  {cause.tokens_lost:>12,}  {time}")
        yield Text()

    def _what_if(self, options: ConsoleOptions) -> Iterator[Text]:
        if not self.what_if:
            return
        rate = self.analysis.prefill_rate
        yield line((f"{'what if':<26}  {'hit rate':>8}  {'warm turn':>12}", DIM))
        best = max(self.what_if, key=lambda row: row.hit_rate)
        for row in self.what_if:
            warm = f"{row.warm_turn / rate:,.1f} s" if rate else f"{row.warm_turn:,.0f} tok"
            mark = f"   {symbols(options).arrow.replace('→', '←').replace('->', '<-')} best"
            note = mark if row is best and row.hit_rate > self.what_if[0].hit_rate else ""
            yield line(f"{row.name:<26}  {row.hit_rate:>8.1%}  {warm:>12}", (note, GOOD))
        yield Text()

    def _conclusion(self) -> Iterator[Text]:
        a = self.analysis
        rate = a.prefill_rate
        time = f", about {_duration(a.avoidable_tokens / rate)} of waiting" if rate else ""
        if not a.avoidable_tokens:
            yield line(("Nothing was prefilled again that had been seen before.", GOOD))
        else:
            yield line(
                f"Prefilled again although it could be kept: {a.avoidable_tokens:,} tokens{time}."
            )
            first = a.causes[0]
            if first.code == "-":
                keeps = "keeps no prefix cache" if a.engine == "none" else "keeps no more of it"
                yield line(f"Most of it because the engine {keeps}.")
            else:
                yield line(
                    f"Most of it by {first.code}, {title(first.code)}, in"
                    f" {count(first.requests, 'request')}."
                )
        given = f" {printable(self.given)}" if self.given else ""
        yield Text()
        yield line(("next   ", GOOD), f"cachediag diff{given}   ", ("see what changed", DIM))
        if a.causes and a.causes[0].code != "-":
            yield line(f"       cachediag explain {a.causes[0].code}")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
