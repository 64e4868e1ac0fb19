"""How much is done, counted in calls: the same on every machine, and however busy it is."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

__all__ = ["calls", "growth"]

T = TypeVar("T")


def calls(done: Callable[[], object]) -> int:
    """How many functions are called, those of C and every step of a generator among them."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        done()
    finally:
        sys.setprofile(before)
    return count


def growth(made: Callable[[int], T], done: Callable[[T], object], few: int, many: int) -> float:
    """How many times as many calls the many take as the few, each time for one of them.

    1 where the calls grow with the number, `many / few` where they grow with its square.
    """
    counted = []
    for number in (few, many):
        given = made(number)
        counted.append(calls(lambda given=given: done(given)))  # type: ignore[misc]
    return counted[1] / counted[0] * few / many
