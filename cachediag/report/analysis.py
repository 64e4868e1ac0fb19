"""How an analysis looks in a terminal: a line a request, the ranked causes, what to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag import findings as catalogue
from cachediag.analysis.analysed import Analysed
from cachediag.analysis.summary import Analysis
from cachediag.analysis.whatif import Arm
from cachediag.report.diff import title
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, Paragraph, commands, count, line, symbols

if TYPE_CHECKING:
    from cachediag.batch.summary import Totals

__all__ = ["AnalysisReport", "dollars", "duration", "lost", "request_row", "reuse", "rows_head"]

# With a space behind it room is left at 80 columns for `✗ V01 system[0].text`.
_BAR = 22
# A smaller share is the template's own opening words.
_SMALL = 0.01
_POLICY = "the engine keeps no more"


def rows_head(options: Console | ConsoleOptions) -> Text:
    """The heading of the list of requests."""
    reused, avoidable, new = symbols(options).shades
    bar = f"{reused} reused {avoidable} again {new} new"
    return line((f"{'#':>3}  {'lane':<9}  {'kind':<10}  {'prompt':>7}  {bar:<{_BAR}} cause", DIM))


def request_row(request: Analysed, options: Console | ConsoleOptions) -> Text:
    """One request: its tokens, a bar of what became of them, and the first cause."""
    head = (
        f"{request.info.index:>3}  {printable(request.lane)[:9]:<9}  "
        f"{printable(request.kind):<10}  {request.prompt_tokens:>7,}  "
    )
    return line(head, _bar(request, options), " ", _cause(request, options))


def _bar(request: Analysed, options: Console | ConsoleOptions) -> Text:
    total = request.prompt_tokens
    if not total:
        return Text(" " * _BAR)
    reused, avoidable, new = symbols(options).shades
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
    options: str = ""
    """What picks backend and tokenizer there."""
    backend: str = ""
    """The backend that the session was recorded from, where its profile counts."""

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
        if self.backend:
            yield line((f"recorded from {printable(self.backend)}", DIM))
        if a.calibrated_usages:
            usages = count(a.calibrated_usages, "reported usage")
            yield line((f"tokens calibrated on {usages}", DIM))
        yield Text()
        yield rows_head(options)
        for request in a.requests:
            yield request_row(request, options)
        yield Text()
        yield from reuse(a)
        yield Text()
        yield from self._causes()
        yield from self._what_if(options)
        yield from self._conclusion()

    def _causes(self) -> Iterator[Text]:
        a = self.analysis
        if not a.causes:
            return
        rate = a.prefill_rate
        last = "more USD" if a.costs else f"at {rate:,.0f} tok/s" if rate else ""
        head = f"{'causes':<44}  {'requests':>8}  {'tokens again':>12}  {last:>10}"
        yield line((head.rstrip(), DIM))
        for cause in a.causes:
            named = (
                "what the engine does not keep"
                if cause.code == "-"
                else (f"{cause.code} {title(cause.code)}  {printable(cause.path or '')}")
            )
            named = named if len(named) <= 44 else f"{named[:43]}…"
            cost = ""
            if a.costs:
                cost = "unknown" if cause.usd is None else dollars(cause.usd)
            elif rate:
                cost = duration(cause.tokens_lost / rate)
            yield line(
                f"{named:<44}  {cause.requests:>8,}  {cause.tokens_lost:>12,}  {cost:>10}".rstrip()
            )
        if a.costs:
            yield line((f"more than read from the cache, at prices of {self._priced()}", DIM))
        yield Text()

    def _priced(self) -> str:
        a = self.analysis
        asked = sum(bool(request.prompt_tokens) for request in a.requests)
        some = f", known for {len(a.costs)} of {count(asked, 'request')}"
        return f"{a.prices_as_of}{some if len(a.costs) < asked else ''}"

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

    def _conclusion(self) -> Iterator[Text | Paragraph]:
        """What is lost, why, and the next command."""
        a = self.analysis
        seconds = a.avoidable_tokens / a.prefill_rate if a.prefill_rate else None
        yield lost(a, seconds, "about ")
        if a.avoidable_tokens:
            yield Paragraph(self._why())
        yield Text()
        yield from commands(self._next())

    def _why(self) -> str:
        first, a = self.analysis.causes[0], self.analysis
        share = _share(first.tokens_lost, a.avoidable_tokens)
        where = f"in {count(first.requests, 'request')}"
        if first.code == "-":
            keeps = "keeps no prefix cache" if a.engine == "none" else "by its design keeps no more"
            return f"The engine {keeps}: that costs {share}, {where}."
        place = f" in {printable(first.path)}" if first.path else ""
        return f"{first.code}, {title(first.code)}{place}, costs {share}, {where}."

    def _next(self) -> dict[str, str]:
        a = self.analysis
        given = f" {printable(self.given)}" if self.given else ""
        options = f" {printable(self.options)}" if self.options else ""
        code = a.causes[0].code if a.causes else "-"
        explain = {f"cachediag explain {code}": "what it is, and what to do"}
        if a.causes and a.engine == "none" and code == "-":
            cache = "--engine conversation-slots:slots=4"
            return {f"cachediag analyze{given}{options} {cache}": "the same with a cache"}
        if code[0] in "PM" or code in ("E05", "S11"):
            # Two requests alone do not show what an engine did, or what a model replied.
            return explain
        shown = {f"cachediag diff{given}{self._costliest(code)}{options}": "see what changed"}
        if code != "-" and catalogue.load(code).rule:
            rules = f"cachediag rules new{given}{options} -o rules.toml"
            explain[rules] = "write the rule that removes it"
        return shown | (explain if code != "-" else {})

    def _costliest(self, code: str) -> str:
        """The pair in which a cause costs most, as an option; empty where there is none."""
        rows = [
            (tokens, request)
            for request in self.analysis.requests
            for each, _, tokens in request.blamed
            if each == code and request.parent is not None
        ]
        if not rows or code == "-":
            return ""
        _, request = max(rows, key=lambda row: row[0])
        return f" --pair {request.parent}:{request.info.index}"


def reuse(of: "Analysis | Totals") -> Iterator[Text]:
    """The hit rate and the price of the input, and what both could be."""
    yield line(f"hit rate {of.hit_rate:.1%}, could be {of.hit_rate_ceiling:.1%}")
    if of.usd is not None and of.avoidable_usd is not None:
        yield line(f"input {dollars(of.usd)}, could be {dollars(of.usd - of.avoidable_usd)}")


def lost(of: "Analysis | Totals", seconds: float | None, about: str = "") -> Paragraph:
    """What was prefilled again though it could be kept.

    Args:
        of: the tokens, and what they cost.
        seconds: how long prefilling them took; None where nothing tells.
        about: stands before these.
    """
    if not of.avoidable_tokens:
        return Paragraph("Nothing was prefilled again that had been seen before.", GOOD)
    # Less than what is shown of a second is not worth a word.
    costs = []
    if seconds is not None and round(seconds, 1):
        costs.append(f"{about}{duration(seconds)} of waiting")
    if of.avoidable_usd is not None:
        costs.append(f"{dollars(of.avoidable_usd)} more than from the cache")
    cost = f": {' and '.join(costs)}" if costs else ""
    return Paragraph(
        f"{of.avoidable_tokens:,} of {of.prompt_tokens:,} prompt tokens were prefilled again"
        f" though they could be kept{cost}."
    )


def _share(part: int, whole: int) -> str:
    percent = f"{part / whole:.0%}"
    some = "nearly all" if percent == "100%" else percent
    return f"{'all' if part == whole else some} of them"


def dollars(amount: float) -> str:
    """`$12.30`, `$0.0042`."""
    if amount >= 0.1 or not amount:
        return f"${amount:,.2f}"
    return f"${amount:.4f}" if amount >= 0.0001 else "<$0.0001"


def duration(seconds: float) -> str:
    """`5.2 s`, `19 min 45 s`, `26 h 10 min`."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 120:
        return f"{minutes // 60:,} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
