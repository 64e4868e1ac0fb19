"""What an experiment showed: each arm's times and tokens, each fix's effect, and a sentence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cachediag.verify.arms import Arm
from cachediag.verify.experiment import Experiment
from cachediag.verify.measured import Measured
from cachediag.verify.statistics import Effects, Estimate, effects, middle

__all__ = ["ArmOutcome", "Verdict", "times", "verdict"]

# Without token counts a warm turn must be this much faster than a cold one to have reused half.
_FASTER = 0.75
_HALF = 0.5
_WHOLE = 10


@dataclass(frozen=True, slots=True)
class ArmOutcome:
    """One arm, over all its repeats. Times are in seconds."""

    arm: Arm
    measured: tuple[Measured, ...]
    cold: Estimate | None
    """Median of the turns of which no cache could have kept the most."""
    warm: Estimate | None
    """Median of those of which one could."""
    first_token: Estimate | None
    """Of the warm turns, median time to the first token."""

    @property
    def repeats(self) -> int:
        """How often it was begun."""
        return len({each.repeat for each in self.measured})

    @property
    def prompt_tokens(self) -> int:
        """Of all requests that were sent."""
        return sum(each.prompt_tokens for each in self.measured)

    @property
    def predicted(self) -> int:
        """Tokens that should have been reused."""
        return sum(each.predicted for each in self.measured)

    @property
    def reused(self) -> int | None:
        """Tokens that were; None where the backend did not say so of every request."""
        told = [each.reused for each in self.measured if each.reused is not None]
        return sum(told) if len(told) == len(self.measured) else None

    @property
    def warm_turns(self) -> tuple[Measured, ...]:
        """Those whose times are in the median."""
        return tuple(each for each in self.measured if each.warm and each.is_turn)

    @property
    def broken(self) -> tuple[Measured, ...]:
        """Warm requests that reused less than was predicted."""
        return tuple(each for each in self.measured if each.warm and each.came is False)

    @property
    def is_slow(self) -> bool:
        """Nothing tells what was reused, and by the times it was not what was predicted."""
        if any(each.reused is not None for each in self.measured):
            return False
        turns = self.warm_turns
        promised = sum(each.predicted for each in turns)
        if promised < _HALF * sum(each.prompt_tokens for each in turns) or not turns:
            return False
        return bool(self.cold and self.warm and self.warm.value > _FASTER * self.cold.value)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What it comes to."""

    arms: tuple[ArmOutcome, ...]
    effects: Effects
    kept: bool
    """What was predicted to be reused was, as far as can be told."""
    sentences: tuple[str, ...]


def verdict(experiment: Experiment) -> Verdict:
    """Judge an experiment."""
    arms = tuple(_outcome(arm, experiment.measured) for arm in experiment.arms)
    found = effects({each.arm.name: [m.total for m in each.warm_turns] for each in arms})
    kept = not any(each.broken or each.is_slow for each in arms)
    return Verdict(arms, found, kept, (*_gains(arms, found), *_promises(arms)))


def times(estimate: Estimate) -> str:
    """A factor in words: `24 times faster`, `1.3 times slower`."""
    value = estimate.value
    way = "faster" if value >= 1 else "slower"
    value = max(value, 1 / value)
    if value < 1.05:
        return f"{value:.2f} times {way}"
    return f"{value:.0f} times {way}" if value >= _WHOLE else f"{value:.1f} times {way}"


def _outcome(arm: Arm, measured: Iterable[Measured]) -> ArmOutcome:
    own = tuple(each for each in measured if each.arm == arm.name)
    turns = [each for each in own if each.is_turn]
    warm = [each for each in turns if each.warm]
    return ArmOutcome(
        arm,
        own,
        cold=middle([each.total for each in turns if not each.warm]),
        warm=middle([each.total for each in warm]),
        first_token=middle([each.first_token for each in warm if each.first_token is not None]),
    )


def _gains(arms: Sequence[ArmOutcome], found: Effects) -> Iterator[str]:
    singles = {"The rules": found.rules, "The patch": found.patch}
    alone = {who: effect for who, effect in singles.items() if effect is not None}
    if not any(each.warm_turns for each in arms):
        yield "No request has a prefix that a cache could have kept: there is no warm turn to time."
        return
    if found.both is not None:
        yield f"Both together: {_said(found.both)}."
        if len(alone) == len(singles) and all(effect.is_noise for effect in alone.values()):
            yield "Neither alone changes anything that can be told from noise."
            return
        for who, effect in alone.items():
            yield f"{who} alone: {_said(effect)}."
        return
    for who, effect in alone.items():
        yield f"{who}: {_said(effect)}."
    if not alone:
        yield "One arm was measured, so that there is nothing to hold it against."


def _said(effect: Estimate) -> str:
    if effect.is_noise:
        return "nothing that can be told from noise"
    return f"{times(effect)} warm turns"


def _promises(arms: Sequence[ArmOutcome]) -> Iterator[str]:
    for each in arms:
        name = each.arm.name.replace("-", " ")
        if each.broken:
            first = each.broken[0]
            yield (
                f"The reuse that was predicted did not come in {name}: "
                f"{len(each.broken)} of {_warm(each)} warm requests reused less, the first is "
                f"request {first.index}, {first.reused:,} tokens of {first.predicted:,}."
            )
        elif each.is_slow:
            yield (
                f"The reuse that was predicted seems not to have come in {name}: the backend tells "
                "no counts, and its warm turns take about as long as cold ones."
            )


def _warm(outcome: ArmOutcome) -> int:
    return sum(each.warm for each in outcome.measured)
