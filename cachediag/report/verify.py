"""How an experiment on a live backend looks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median_low

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, Paragraph, commands, count, line, symbols
from cachediag.verify.experiment import Experiment
from cachediag.verify.statistics import Estimate
from cachediag.verify.verdict import ArmOutcome, Verdict

__all__ = ["VerifyReport"]

_EMPTIED = {
    "cleared": "caches cleared before each run",
    "restarted": "server started anew for each run",
    "salted": "prompts made new to every cache before each run",
}


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What each arm came to, and what the fixes are worth."""

    verdict: Verdict
    experiment: Experiment
    backend: str
    next: Mapping[str, str] = field(default_factory=dict)
    """The commands to go on with, and what each is for."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        made, measured = self.verdict, self.experiment.measured
        requests = count(len({each.index for each in measured}), "request")
        times = "×" if _is_rich(options) else "x"
        warm = [each.prompt_tokens for each in measured if each.warm and each.is_turn]
        about = f"   prompts of about {median_low(warm):,} tokens" if warm else ""
        yield line((printable(self.backend), "bold"))
        yield line(f"{requests} {times} {self.experiment.repeats}, arms interleaved{about}")
        yield line((_EMPTIED[self.experiment.emptied], DIM))
        yield Text()
        yield line((f"{'':<12}  {'':>7}  {'':<21}  {'first':>7}  reused a warm turn,", DIM))
        head = f"{'arm':<12}  {'cold':>7}  {'warm turn (95 %)':<21}  {'token':>7}"
        yield line((f"{head}  predicted / measured", DIM))
        for outcome in made.arms:
            yield self._arm(outcome, options)
        yield Text()
        style = (GOOD if made.effects.both or made.effects.rules else "") if made.kept else BAD
        for sentence in made.sentences:
            yield Paragraph(sentence, style)
        yield from self._rest()

    def _arm(self, outcome: ArmOutcome, options: ConsoleOptions) -> Text:
        name = outcome.arm.name.replace("-", " ")
        warm, turns = outcome.warm, outcome.warm_turns
        dash = "–" if _is_rich(options) else "-"
        span = f" ({_seconds(warm.low)}{dash}{_seconds(warm.high)})" if warm else ""
        predicted = f"{median_low(each.predicted for each in turns):,}" if turns else "-"
        told = [each.reused for each in turns if each.reused is not None]
        reused = f"{median_low(told):,}" if told else "not told"
        mark = f"  {symbols(options).bad} less" if outcome.broken else ""
        return line(
            f"{name:<12}  {_median(outcome.cold):>7}  {_median(warm) + span:<21}  "
            f"{_median(outcome.first_token):>7}  {predicted:>9} / {reused}",
            (mark, BAD),
        )

    def _rest(self) -> Iterator[Text]:
        if self.experiment.interrupted or self.experiment.failure is not None:
            yield line(("Ended early: this is what was measured up to then.", BAD))
        if self.next:
            yield Text()
            yield from commands({printable(each): purpose for each, purpose in self.next.items()})


def _is_rich(options: ConsoleOptions) -> bool:
    return options.encoding.lower().startswith("utf")


def _median(estimate: Estimate | None) -> str:
    return f"{_seconds(estimate.value)} s" if estimate else "-"


def _seconds(value: float) -> str:
    """Three figures, as `108`, `15.7`, `0.65`."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"
