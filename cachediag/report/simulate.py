"""How a simulated fleet looks in a terminal: which policy answers first, and what each reuses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median_low

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, Paragraph, commands, count, line, symbols
from cachediag.simulate.comparison import Compared, Fleet, Outcome
from cachediag.simulate.figures import Figures
from cachediag.simulate.model import Server
from cachediag.verify.statistics import Estimate
from cachediag.words import listing

__all__ = ["SimulateReport", "assumptions", "header", "labels", "plus_minus", "seconds"]

_NAME = 18
_BAR = 46
_CUT = ">"
# A bar that is longer than the middle one's p90 so many times is cut off.
_FAR = 10


@dataclass(frozen=True, slots=True)
class SimulateReport:
    """Policies compared over one workload."""

    compared: Compared
    told: tuple[str, ...] = ()
    """What was measured or taken for granted of the servers, a line each."""
    next: tuple[tuple[str, str], ...] = ()
    """Commands to go on with, and what each is for."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        made = self.compared
        names = labels([each.policy for each in made.outcomes])
        yield from header(made.fleet, made.ceiling.requests)
        yield Text()
        yield from self._answer(names)
        yield Text()
        yield from _first_tokens(made, names, options)
        yield Text()
        yield from _totals(made.outcomes, names)
        yield Text()
        yield from _against_random(made.outcomes, names)
        yield from _bars(made.outcomes, names, options)
        yield Text()
        yield from _legend(names)
        yield from assumptions((*self.told, *made.fleet.workload.assumed))
        if self.next:
            yield Text()
            yield from commands({printable(command): purpose for command, purpose in self.next})

    def _answer(self, names: dict[str, str]) -> Iterator[Paragraph]:
        made = self.compared
        best, equals = made.best, made.equals
        p90 = best.figures.ttft.p90
        took = f"{seconds(p90.value)} to the first token at the 90th percentile"
        name = printable(names[best.policy])
        if len(made.outcomes) == 1:
            yield Paragraph(f"{name}: {took}.")
        elif made.fleet.repeats == 1:
            yield Paragraph(
                f"{name} came first in the one run that was played: {took}. Whether that is more"
                " than chance shows with --repeats 5."
            )
        elif equals:
            others = listing(printable(names[each.policy]) for each in equals)
            yield Paragraph(
                f"No one policy is best: {name} has {took}, which cannot be told from {others}."
            )
        else:
            yield Paragraph(f"{name} is best: {took}{_less(made, names)}.", GOOD)
        yield Paragraph(_reuse(made, name))


def header(fleet: Fleet, requests: int) -> Iterator[Text]:
    """What was played, on what, and how sure the figures are."""
    workload, runs = fleet.workload, count(fleet.repeats, "run")
    yield line(
        (printable(workload.name), "bold"),
        f"   {count(requests, 'request')}   {_replicas(fleet.replicas)}   {runs} of each",
    )
    sure = "exact" if workload.exact else "estimate"
    yield line((f"{_cached(fleet.server)}   tokens {sure}, times estimate", DIM))
    yield line((_served(fleet.server), DIM))
    for change in fleet.changes:
        verb = "join" if change.replicas > 0 else "leave"
        verb += "s" if abs(change.replicas) == 1 else ""
        yield line((f"at {change.at:,.0f} s {_replicas(abs(change.replicas))} {verb}", DIM))


def _replicas(number: int) -> str:
    return count(number, "replica")


def _served(server: Server) -> str:
    prefill, each, all_ = server.prefill_rate, server.decode_rate, server.batch_rate
    return (
        f"prefill {prefill:,.0f}, decode {each:,.0f}, of all {all_:,.0f} tokens/s"
        f"   {server.concurrency:,} at once   latency {seconds(server.latency)}"
    )


def _cached(server: Server) -> str:
    room = "no limit" if server.capacity is None else f"{server.capacity:,} tokens"
    return f"cache {printable(server.engine)}" if server.engine else f"cache of blocks, {room}"


def labels(specs: Sequence[str]) -> dict[str, str]:
    """For each policy what a table calls it: its name, numbered where it is there twice."""
    found: dict[str, list[str]] = {}
    for spec in dict.fromkeys(specs):
        found.setdefault(spec.partition(":")[0], []).append(spec)
    return {
        spec: name if len(of) == 1 else f"{name[: _NAME - 4]} {number}"
        for name, of in found.items()
        for number, spec in enumerate(of, 1)
    }


def _legend(names: dict[str, str]) -> Iterator[Paragraph]:
    for spec, label in names.items():
        if label != spec:
            yield Paragraph(f"{label} is {printable(spec)}", DIM)


def _less(made: Compared, names: dict[str, str]) -> str:
    """How much less that is than at random, or than in the slowest policy."""
    chance = [each for each in made.outcomes if each.policy == "random"]
    slowest = max(made.outcomes, key=lambda each: each.figures.ttft.p90.value)
    other = chance[0] if chance and made.best is not chance[0] else slowest
    base = other.figures.ttft.p90.value
    if not base:
        return ""
    less = 1 - made.best.figures.ttft.p90.value / base
    return f", {less:.0%} less than {printable(names[other.policy])}"


def _reuse(made: Compared, name: str) -> str:
    hit = made.best.figures.hit_rate.value
    return (
        f"Under {name} {hit:.1%} of the prompt tokens are reused; one server that keeps everything"
        f" would reuse {made.ceiling.hit_rate:.1%}."
    )


def _first_tokens(made: Compared, names: dict[str, str], options: ConsoleOptions) -> Iterator[Text]:
    sign = symbols(options).plus_minus
    interval = f", {sign} 95 %" if made.fleet.repeats > 1 else ""
    yield line((f"{'':<{_NAME}}{'':>14}{f'time to first token{interval}':>48}", DIM))
    yield line((f"{'policy':<{_NAME}}{'hit rate':>14}{'p50':>16}{'p90':>16}{'p99':>16}", DIM))
    equal = made.fleet.repeats > 1 and not made.equals
    for each in made.outcomes:
        of = each.figures
        text = f"{_fit(names[each.policy])}{plus_minus(of.hit_rate, sign, percent=True):>14}"
        for time in (of.ttft.p50, of.ttft.p90, of.ttft.p99):
            text += f"{plus_minus(time, sign):>16}"
        yield line((text, GOOD if equal and each is made.best else ""))


def _totals(outcomes: Sequence[Outcome], names: dict[str, str]) -> Iterator[Text]:
    yield line((f"{'':<{_NAME}}{'total time':>32}", DIM))
    head = f"{'p50':>11}{'p90':>11}{'p99':>11}{'req/s':>9}{'tok/s':>10}{'busiest':>10}"
    yield line((f"{'policy':<{_NAME}}{head}", DIM))
    for each in outcomes:
        of, text = each.figures, _fit(names[each.policy])
        for time in (of.total.p50, of.total.p90, of.total.p99):
            text += f"{seconds(time.value):>11}"
        text += f"{_figures(of.requests_per_second.value):>9}"
        text += f"{_figures(of.tokens_per_second.value):>10}"
        yield line(f"{text}{of.imbalance.value:>10.2f}")
    yield line(("busiest: seconds that the busiest replica works, over the mean of all", DIM))


def _against_random(outcomes: Sequence[Outcome], names: dict[str, str]) -> Iterator[Text]:
    """How much more or less than with routing at random, where that was played too."""
    chance = next((each.figures for each in outcomes if each.policy == "random"), None)
    if chance is None or len(outcomes) == 1:
        return
    yield line((f"{'against random':<{_NAME}}{'time to first token':>30}{'total time':>20}", DIM))
    head = f"{'p50':>10}{'p90':>10}{'p99':>10}{'p50':>10}{'p90':>10}{'req/s':>10}"
    yield line((f"{'policy':<{_NAME}}{head}", DIM))
    for each in outcomes:
        if each.figures is chance:
            continue
        text = _fit(names[each.policy])
        for own, base in zip(_compared(each.figures), _compared(chance), strict=True):
            text += f"{own / base - 1:>+10.1%}" if base else f"{'-':>10}"
        yield line(text)
    yield Text()


def _compared(of: Figures) -> tuple[float, ...]:
    times = (of.ttft.p50, of.ttft.p90, of.ttft.p99, of.total.p50, of.total.p90)
    return (*(each.value for each in times), of.requests_per_second.value)


def _bars(
    outcomes: Sequence[Outcome], names: dict[str, str], options: ConsoleOptions
) -> Iterator[Text]:
    """The percentiles of the time to first token as one bar, all to one scale."""
    first, second, third = symbols(options).shades
    longest, limit = max(each.figures.ttft.p99.value for each in outcomes), _limit(outcomes)
    cut = f"  {_CUT} beyond {seconds(limit)}" if longest > limit else ""
    head = f"time to first token   {first} p50  {second} p90  {third} p99{cut}"
    yield line((f"{'':<{_NAME}}{head}", DIM))
    for each in outcomes:
        of = each.figures.ttft
        ends = [
            round(_BAR * min(time.value, limit) / limit) if limit else 0
            for time in (of.p50, of.p90, of.p99)
        ]
        bar = (
            (first * ends[0], GOOD),
            (second * (ends[1] - ends[0]), BAD),
            (third * (ends[2] - ends[1]), DIM),
        )
        mark = _CUT if of.p99.value > limit else ""
        yield line(_fit(names[each.policy]), *bar, f"{mark} {seconds(of.p99.value)}")


def _limit(outcomes: Sequence[Outcome]) -> float:
    """Seconds at which bars end: one slow policy would leave nothing to see of the others."""
    times = [each.figures.ttft for each in outcomes]
    limit = _FAR * median_low([of.p90.value for of in times])
    within = [of.p99.value for of in times if of.p99.value <= limit]
    return max(within, default=limit)


def assumptions(told: Sequence[str]) -> Iterator[Text | Paragraph]:
    """What was taken for granted, a paragraph each."""
    if told:
        yield line(("taken for granted", DIM))
    for each in told:
        yield Paragraph(f"- {printable(each)}", DIM, "  ")


def _fit(name: str) -> str:
    name = printable(name)
    return f"{name if len(name) < _NAME else name[: _NAME - 2] + '…':<{_NAME}}"


def plus_minus(of: Estimate, sign: str, *, percent: bool = False) -> str:
    """`0.84 ±0.10 s`, `61.2 ±1.1 %`; without the interval where there is none."""
    half = max(of.high - of.value, of.value - of.low)
    if percent:
        return f"{_around(100 * of.value, 100 * half, sign, 1)} %"
    unit = 1000 if of.value and of.value < 0.1 else 1
    value = of.value * unit
    return f"{_around(value, half * unit, sign, _decimals(value))} {'ms' if unit > 1 else 's'}"


def _around(value: float, half: float, sign: str, decimals: int) -> str:
    around = f"{half:,.{decimals}f}"
    return f"{value:,.{decimals}f}{f' {sign}{around}' if float(around.replace(',', '')) else ''}"


def seconds(value: float) -> str:
    """Three figures: `84 ms`, `0.84 s`, `15.7 s`, `108 s`."""
    return f"{_figures(value * 1000)} ms" if value and value < 0.1 else f"{_figures(value)} s"


def _figures(value: float) -> str:
    return f"{value:,.{_decimals(value)}f}"


def _decimals(value: float) -> int:
    """So many that there are three figures."""
    return 0 if value >= 100 else 1 if value >= 10 else 2
