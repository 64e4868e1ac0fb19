"""Token sequences that share their pieces, so that a long session is held once.

A prompt is a sequence of chunks, each encoded on its own and remembered by its content. One
encoder makes one chunk of one text, so two prompts of one conversation hold the very same objects
up to where they part, and are compared by identity.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from cachediag.heads import common_head

if TYPE_CHECKING:
    from array import array

__all__ = ["Chunk", "Run", "TokenSequence", "agreement"]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A run of tokens that is encoded alone as it is in every prompt.

    An encoder makes one object for each content.
    """

    ids: "array[int]"
    """Token ids, typecode `I`."""
    digest: bytes
    """Tells the text from every other."""
    size: int = 0
    """Characters of the text."""


Run: TypeAlias = tuple[tuple[Chunk, ...], Sequence[int]]
"""Chunks that follow one another, and the offset of each in its prompt; one more offset is the end
of the last."""

_ids = attrgetter("ids")


class TokenSequence:
    """A prompt's tokens: its chunks, and for each boundary how many tokens stand before it.

    Args:
        chunks: in order.
        sizes: the tokens of each, where the caller has them at hand.
    """

    __slots__ = ("chunks", "starts")

    def __init__(self, chunks: Iterable[Chunk], sizes: Iterable[int] | None = None) -> None:
        self.chunks = tuple(chunks)
        counts = map(len, map(_ids, self.chunks)) if sizes is None else sizes
        self.starts = tuple(accumulate(counts, initial=0))
        """`starts[n]` is the offset of chunk n; one more entry is the length of the whole."""

    def __len__(self) -> int:
        return self.starts[-1]

    def __iter__(self) -> Iterator[int]:
        for chunk in self.chunks:
            yield from chunk.ids

    def shared(self, other: "TokenSequence") -> int:
        """How many tokens at the head two sequences have in common.

        The cost is that of what is shared. Chunks that are one object are passed over; from there
        on ids are compared, so that it does not matter how either text was cut.
        """
        equal = self.starts[common_head(self.chunks, other.chunks)]
        return agreement((self.chunks, self.starts), (other.chunks, other.starts), equal)


def agreement(a: Run, b: Run, at: int) -> int:
    """The offset up to which two runs agree, wherever either one's chunks end.

    Args:
        a: one run.
        b: the other.
        at: an offset in both, up to which they are known to agree.

    Returns:
        The offset of the first token that differs, or the end of the shorter run.
    """
    (a_chunks, a_starts), (b_chunks, b_starts) = a, b
    end = min(a_starts[-1], b_starts[-1])
    while at < end:
        x, y = _from(a_chunks, a_starts, at), _from(b_chunks, b_starts, at)
        equal = common_head(x, y)
        at += equal
        if equal < min(len(x), len(y)):
            break
    return at


def _from(chunks: tuple[Chunk, ...], starts: Sequence[int], at: int) -> "array[int]":
    """The ids from an offset to the end of the chunk that holds it."""
    index = bisect_right(starts, at) - 1
    return chunks[index].ids[at - starts[index] :]
