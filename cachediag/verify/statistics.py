"""Medians with intervals, and what two fixes do alone and together.

Intervals are by bootstrap: percentiles over resampled measurements.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

__all__ = ["Effects", "Estimate", "effects", "middle"]

_DRAWS = 2_000
_TAIL = 0.025
Samples = Sequence[float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % interval, in the unit of what was measured."""

    value: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """For a factor: it cannot be told from 1."""
        return self.low <= 1 <= self.high


@dataclass(frozen=True, slots=True)
class Effects:
    """How many times faster warm turns become; each None where its arms were not run."""

    rules: Estimate | None
    """By the rules alone."""
    patch: Estimate | None
    """By the patch alone."""
    both: Estimate | None
    interaction: Estimate | None
    """How many times more both bring than the product of each alone: 1 where they are
    independent, above it where one fix makes the other work."""


def middle(samples: Samples, seed: int = 0) -> Estimate | None:
    """The median of some measurements, with its interval.

    Args:
        samples: in seconds, or whatever is measured.
        seed: of the resampling, so that the same measurements give the same interval.

    Returns:
        In the unit of the samples; None where there are none.
    """
    if not samples:
        return None
    return _estimate(lambda draw: median(draw(samples)), seed)


def effects(warm: Mapping[str, Samples], seed: int = 0) -> Effects:
    """The effects of rules and patch on the times of warm turns.

    Args:
        warm: for each arm by its name the seconds of its warm turns.
        seed: of the resampling, so that the same measurements give the same intervals.
    """
    stock, rules, patch, both = (
        warm.get(name, ()) for name in ("as-recorded", "rules-only", "patch-only", "both")
    )
    return Effects(
        rules=_factor(seed, (stock,), (rules,)),
        patch=_factor(seed, (stock,), (patch,)),
        both=_factor(seed, (stock,), (both,)),
        interaction=_factor(seed, (rules, patch), (stock, both)),
    )


def _factor(seed: int, slow: tuple[Samples, ...], fast: tuple[Samples, ...]) -> Estimate | None:
    """The product of some medians by the product of others."""
    if not all((*slow, *fast)):
        return None

    def ratio(draw: Callable[[Samples], Samples]) -> float:
        above = math.prod(median(draw(samples)) for samples in slow)
        return above / math.prod(median(draw(samples)) for samples in fast)

    return _estimate(ratio, seed)


def _estimate(figure: Callable[[Callable[[Samples], Samples]], float], seed: int) -> Estimate:
    # The seed only makes the interval the same again for the same measurements.
    source = random.Random(seed)  # noqa: S311
    drawn = sorted(
        figure(lambda samples: source.choices(samples, k=len(samples))) for _ in range(_DRAWS)
    )
    cut = int(_DRAWS * _TAIL)
    return Estimate(figure(lambda samples: samples), drawn[cut], drawn[-cut - 1])
