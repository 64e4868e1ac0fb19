"""Sentences' small words."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["did_you_mean", "listing"]

_MOST_NAMED: Final = 3


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A question that names the known word most like one, with a space behind it; or nothing."""
    lowered = {each.lower(): each for each in known}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return f"Did you mean {lowered[near[0]]}? " if near else ""


def listing(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b, c and 4 more`; each name once."""
    known = list(dict.fromkeys(names))
    if len(known) > _MOST_NAMED + 1:
        known = [*known[:_MOST_NAMED], f"{len(known) - _MOST_NAMED} more"]
    return " and ".join(filter(None, (", ".join(known[:-1]), known[-1]))) if known else ""
