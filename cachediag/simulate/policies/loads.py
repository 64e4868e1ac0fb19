"""Choices among equals, and by load."""

from collections.abc import Callable, Sequence
from random import Random

from cachediag.simulate.model import Replica

__all__ = ["Draw", "draws", "least_loaded", "one_of"]

Draw = Callable[[], float]
"""Gives a number from 0 to below 1."""


def draws(seed: int) -> Draw:
    """A row of random numbers, the same for the same seed."""
    return Random(seed).random  # noqa: S311 - nothing here is a secret


def one_of(values: Sequence[float], best: float, draw: Draw) -> int:
    """The index of any of the values that are the best one.

    Args:
        values: some.
        best: one of them.
        draw: chooses among equals.
    """
    index = values.index(best)
    ties = values.count(best)
    if ties > 1:
        for _ in range(int(draw() * ties)):
            index = values.index(best, index + 1)
    return index


def least_loaded(replicas: Sequence[Replica], draw: Draw) -> Replica:
    """Any of the replicas with the fewest outstanding requests.

    Args:
        replicas: at least one.
        draw: chooses among equals.
    """
    loads = [each.outstanding for each in replicas]
    return replicas[one_of(loads, min(loads), draw)]
