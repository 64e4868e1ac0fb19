"""Runs of blocks that came together, as caches and routers keep them.

A key names all that stands before its block. So a run is found by its first key, and a prompt that
has one of its keys in its place has all those before that.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence

__all__ = ["agreement", "packed"]


def agreement(keys: Sequence[int], blocks: tuple[int, ...], at: int) -> int:
    """How many keys of a run a prompt has, from a place on.

    Args:
        keys: the run's; the prompt has the first of them.
        blocks: all keys of the prompt.
        at: where in these the run begins.
    """
    size = len(keys)
    if at + size <= len(blocks) and keys[-1] == blocks[at + size - 1]:
        return size
    both = range(min(size, len(blocks) - at))
    return bisect_left(both, True, key=lambda n: keys[n] != blocks[at + n])


def packed(keys: tuple[int, ...]) -> Sequence[int]:
    """The same keys in a fifth of the room, if they are of 64 bits."""
    try:
        return array("q", keys)
    except OverflowError:
        return keys
