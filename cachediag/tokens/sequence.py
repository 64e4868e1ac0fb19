"""Token sequences that share their pieces, so that a long session is held once.

A chat template parts messages with special tokens, and a byte-pair encoder never merges across
one. So a prompt is a sequence of chunks, each encoded on its own and remembered by its content:
two prompts of one conversation hold the very same chunks up to where they part.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate

__all__ = ["Chunk", "TokenSequence"]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A run of tokens that begins and ends at a special token, or is one.

    Made once for each content by an encoder; `digest` tells two apart by content.
    """

    ids: "array[int]"
    """Token ids, typecode `I`."""
    digest: bytes


class TokenSequence:
    """A prompt's tokens: its chunks, and for each boundary how many tokens stand before it."""

    __slots__ = ("_chain", "chunks", "starts")

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks = tuple(chunks)
        self.starts = (0, *accumulate(len(chunk.ids) for chunk in self.chunks))
        """`starts[n]` is the offset of chunk n; one more entry is the length of the whole."""
        running, chain = blake2b(digest_size=12), []
        for chunk in self.chunks:
            running.update(chunk.digest)
            chain.append(running.digest())
        self._chain = tuple(chain)

    @property
    def chain(self) -> tuple[bytes, ...]:
        """Per chunk the digest of all chunks up to it: equal digests, equal prefixes."""
        return self._chain

    def __len__(self) -> int:
        return self.starts[-1]

    def __iter__(self) -> Iterator[int]:
        for chunk in self.chunks:
            yield from chunk.ids

    def shared(self, other: "TokenSequence") -> int:
        """How many tokens at the head two sequences have in common.

        Equal chunks are found by halving, tokens are compared in the first chunks that differ.
        """
        low, high = 0, min(len(self._chain), len(other.chain))
        while low < high:
            middle = (low + high + 1) // 2
            if self._chain[middle - 1] == other.chain[middle - 1]:
                low = middle
            else:
                high = middle - 1
        return self.starts[low] + _shared_ids(self._rest(low), other._rest(low))

    def _rest(self, first: int) -> Iterator[int]:
        for chunk in self.chunks[first:]:
            yield from chunk.ids


def _shared_ids(a: Iterable[int], b: Iterable[int]) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count
