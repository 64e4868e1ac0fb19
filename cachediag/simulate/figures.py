"""What runs of one policy from several seeds come to: rates, times, load, each with an interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

from cachediag.analysis.rates import share
from cachediag.simulate.model import Run
from cachediag.verify.statistics import Estimate

__all__ = ["Figures", "Percentiles", "estimate", "summarise"]

_STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622)
"""The 97.5 % quantile of Student's distribution for 1 to 9 degrees of freedom, where the series
that gives it for more of them is not close enough."""


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Seconds in which so many of a hundred requests were served, by nearest rank.

    The p-th percentile is the least time that was measured and that p of a hundred did not exceed.
    """

    p50: Estimate
    p90: Estimate
    p99: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One policy's figures: means over the seeds, with 95 % intervals by Student's distribution.

    A single seed has an interval of no width.
    """

    hit_rate: Estimate
    """Share of the prompts' tokens that were not prefilled."""
    block_hit_rate: Estimate
    """Share of the prompts' blocks that the cache held."""
    ttft: Percentiles
    """Time to first token."""
    total: Percentiles
    """Time to the last token."""
    requests_per_second: Estimate
    tokens_per_second: Estimate
    """Output tokens."""
    imbalance: Estimate
    """Busy seconds of the busiest replica over the mean of all: 1 where they are busy alike."""


def summarise(runs: Sequence[Run]) -> Figures:
    """The figures of one policy.

    Args:
        runs: of the same policy over the same workload, one for each seed; at least one.
    """
    return Figures(
        hit_rate=estimate([run.hit_rate for run in runs]),
        block_hit_rate=estimate([run.block_hit_rate for run in runs]),
        ttft=_percentiles([run.ttft for run in runs]),
        total=_percentiles([run.total for run in runs]),
        requests_per_second=estimate([share(run.requests, run.seconds) for run in runs]),
        tokens_per_second=estimate([share(run.output_tokens, run.seconds) for run in runs]),
        imbalance=estimate([_imbalance(run.busy) for run in runs]),
    )


def _imbalance(busy: Sequence[float]) -> float:
    mean = fmean(busy) if busy else 0.0
    return max(busy) / mean if mean else 1.0


def _percentiles(runs: Sequence[Sequence[float]]) -> Percentiles:
    ordered = [sorted(times) for times in runs]
    return Percentiles(
        *(estimate([_ranked(times, percent) for times in ordered]) for percent in (50, 90, 99))
    )


def _ranked(ordered: Sequence[float], percent: int) -> float:
    """The percentile of some times by nearest rank; 0 where there are none."""
    # In whole numbers: 0.9 of ten is nine, and not a rounding error more.
    rank = -(-percent * len(ordered) // 100)
    return ordered[rank - 1] if ordered else 0.0


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of some values with its 95 % interval by Student's distribution; at least one."""
    mean = fmean(values)
    if len(values) == 1:
        return Estimate(mean, mean, mean)
    half = _student(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half)


def _student(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution, to a thousandth.

    For many degrees of freedom by its series around the normal quantile (Abramowitz and Stegun,
    26.7.5), since the standard library has the normal distribution alone.
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
