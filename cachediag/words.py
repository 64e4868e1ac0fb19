"""Sentences' small words."""

from collections.abc import Iterable
from typing import Final

__all__ = ["listing"]

_MOST_NAMED: Final = 3


def listing(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b, c and 4 more`; each name once."""
    known = list(dict.fromkeys(names))
    if len(known) > _MOST_NAMED + 1:
        known = [*known[:_MOST_NAMED], f"{len(known) - _MOST_NAMED} more"]
    return " and ".join(filter(None, (", ".join(known[:-1]), known[-1]))) if known else ""
