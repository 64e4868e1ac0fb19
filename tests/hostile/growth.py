"""How the time that something takes grows with what it is given."""

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["growth"]

T = TypeVar("T")


def growth(made: Callable[[int], T], done: Callable[[T], object], few: int, many: int) -> float:
    """How many times as long the many take as the few, each time for one of them.

    1 where the time grows with the number, `many / few` where it grows with its square. Counted in
    processor time, the better of two runs.
    """
    seconds = [min(_seconds(done, made(count)) for _ in range(2)) for count in (few, many)]
    return seconds[1] / max(seconds[0], 1e-3) * few / many


def _seconds(done: Callable[[T], object], given: T) -> float:
    before = time.process_time()
    done(given)
    return time.process_time() - before
