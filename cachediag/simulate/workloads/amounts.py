"""Lengths, counts and seconds that vary from request to request."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from cachediag.errors import UsageError

__all__ = [
    "Amount",
    "Spread",
    "check_above_nothing",
    "check_least",
    "counts",
    "described",
    "values",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A quantity that varies, in the unit of what it is the amount of.

    With a mean it is log-normal, as lengths of prompts and replies nearly are; without one every
    value from `least` to `most` is as likely as any other.

    Raises:
        UsageError: no such distribution exists.
    """

    mean: float | None = None
    """Of the values before those outside the limits are set to them."""
    deviation: float = 0.0
    """Standard deviation, likewise."""
    least: float = 0.0
    most: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise UsageError(
                f"no amount is from {self.least:g} to {self.most:g}",
                remedy="Let least be 0 or more, and most no less than it.",
            )
        if self.mean is None and (self.most == math.inf or self.deviation):
            raise UsageError(
                "an amount needs a mean, or least and most alone",
                remedy="Write {mean = 200, deviation = 100} or {least = 100, most = 300}.",
            )
        if self.mean is not None and not (0 < self.mean < math.inf and self.deviation >= 0):
            raise UsageError(
                f"no amount has the mean {self.mean:g} and the deviation {self.deviation:g}",
                remedy="The mean must be above 0, the deviation 0 or more.",
            )


Amount: TypeAlias = float | Spread
"""Always the same, or spread out."""


def check_least(least: int, **values: float) -> None:
    """See that numbers of a workload are not too small.

    Args:
        least: what each of them must be at least.
        values: the numbers, by their names.

    Raises:
        UsageError: one of them is less.
    """
    for name, value in values.items():
        if not value >= least:
            raise UsageError(f"{name} must be {least} or more, not {value}")


def check_above_nothing(**values: float) -> None:
    """See that numbers of a workload are above 0.

    Args:
        values: the numbers, by their names.

    Raises:
        UsageError: one of them is not.
    """
    for name, value in values.items():
        if not value > 0:
            raise UsageError(f"{name} must be above 0, not {value:g}")


def values(amount: Amount, source: random.Random) -> Callable[[], float]:
    """What draws one value after another.

    Args:
        amount: what to draw from.
        source: of randomness; a fixed amount takes none of it.
    """
    if not isinstance(amount, Spread):
        fixed = float(amount)
        return lambda: fixed
    least, most = amount.least, amount.most
    if amount.mean is None:
        return lambda: source.uniform(least, most)
    variance = math.log1p((amount.deviation / amount.mean) ** 2)
    middle, sigma = math.log(amount.mean) - variance / 2, math.sqrt(variance)
    return lambda: min(most, max(least, source.lognormvariate(middle, sigma)))


def counts(amount: Amount, source: random.Random) -> Callable[[], int]:
    """What draws one whole number after another, 1 or more.

    Args:
        amount: what to draw from; values are rounded.
        source: of randomness.
    """
    if not isinstance(amount, Spread):
        fixed = max(1, round(amount))
        return lambda: fixed
    if amount.mean is None:
        low = max(1, math.ceil(amount.least))
        high = max(low, math.floor(amount.most))
        return lambda: source.randint(low, high)
    draw = values(amount, source)
    return lambda: max(1, round(draw()))


def described(amount: Amount) -> str:
    """An amount in words, without its unit."""
    if not isinstance(amount, Spread):
        return f"{amount:,g}"
    more = amount.most == math.inf
    limits = f"{amount.least:,g} {'or more' if more else f'to {amount.most:,g}'}"
    if amount.mean is None:
        return f"{limits} (even)"
    kind = (
        "log-normal" if (amount.least, amount.most) == (0.0, math.inf) else f"log-normal, {limits}"
    )
    return f"{amount.mean:,g} ± {amount.deviation:,g} ({kind})"
