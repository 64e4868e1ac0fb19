"""Arrays of earlier bodies, of which a later one repeats most items to the byte."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachediag.errors import InputError
from cachediag.model import Part
from cachediag.protocol import jsontext
from cachediag.protocol.fields import Field
from cachediag.protocol.jsontext import Span

__all__ = ["Again", "Array", "Items", "again", "latest", "longest"]

# Arrays that later bodies may begin with; the lanes of a session take turns.
_RECENT = 8
_NEARLY = 2
_LOOK = 32
_BEHIND = (b",", b"]", b" ", b"\n", b"\r", b"\t")
# Items that may have changed or gone, one behind the other, before those that are the same again.
_CHANGED = 2


@dataclass(frozen=True, slots=True)
class Items:
    """Items of an array that follow one another: what they became, and where they stand."""

    parts: tuple[Part, ...] = ()
    starts: tuple[int, ...] = ()
    """Offset of each item from the array's first byte."""
    ends: tuple[int, ...] = ()

    def cut(self, first: int, end: int, by: int = 0) -> "Items":
        """Some of the items, so many bytes further on."""
        starts, ends = self.starts[first:end], self.ends[first:end]
        if by:
            starts, ends = tuple([at + by for at in starts]), tuple([at + by for at in ends])
        return Items(self.parts[first:end], starts, ends)

    def then(self, behind: "Items") -> "Items":
        """These items with others behind them."""
        if not self.parts or not behind.parts:
            return self if self.parts else behind
        return Items(
            self.parts + behind.parts, self.starts + behind.starts, self.ends + behind.ends
        )


@dataclass(frozen=True, slots=True)
class Array:
    """An array of an earlier body."""

    field: Field
    body: bytes
    before: tuple[tuple[str, Span], ...]
    """The body's fields before it."""
    base: int
    items: Items

    def shared_items(self, body: bytes, at: Span, first: int = 0) -> int:
        """Up to which item another array has the same, to the byte.

        Args:
            body: the other body.
            at: its array.
            first: the item to begin with, as if those before it were as long in both.
        """
        ends = self.items.ends
        low, high = first, len(ends)
        if first >= high or not self._has(body, at, first, first + 1):
            return first
        # Nearly always all but the last items are the same.
        for end in (high, high - 1, high - 2):
            if end > first and self._has(body, at, first, end):
                return end
        while low < high:
            middle = (low + high + 1) // 2
            if self._has(body, at, first, middle):
                low = middle
            else:
                high = middle - 1
        return low

    def _has(self, body: bytes, at: Span, first: int, end: int) -> bool:
        # With the byte behind, which ends a number: `[1` is no head of `[12`.
        skip, size = self.items.starts[first] if first else 0, self.items.ends[end - 1]
        # Items that differ mostly differ at their ends too: a look there saves the long compare.
        own, other = self.base + size, at.start + size
        if self.body[own - _LOOK : own] != body[other - _LOOK : other]:
            return False
        same = memoryview(self.body)[self.base + skip : own]
        behind = body[other : other + 1]
        return other < at.end and body.startswith(same, at.start + skip) and behind in _BEHIND


def latest() -> deque[Array]:
    """Holds some arrays, the latest first."""
    return deque(maxlen=_RECENT)


def longest(
    recent: Iterable[Array], body: bytes, at: Span | None = None
) -> tuple[Array | None, int]:
    """The array with most items at the head of another body's, and how many these are.

    Args:
        recent: arrays that were parsed before, the latest first.
        body: the other body.
        at: its array; None where each of the arrays begins where it begins in its own body.
    """
    found, most = None, 0
    for earlier in recent:
        shared = earlier.shared_items(body, at or Span(earlier.base, len(body)))
        if shared > most:
            found, most = earlier, shared
        if most and most + _NEARLY >= len(earlier.items.parts):
            break
    return found, most


class Again(NamedTuple):
    """Where an array goes on as an earlier one does, behind items that differ."""

    between: Sequence[Span]
    """The items that differ."""
    rest: Items
    """Those behind them that are the same."""


def again(
    recent: Iterable[Array], body: bytes, at: Span, position: int, shared: int
) -> Again | None:
    """Find where an array goes on as an earlier one does, behind an item or two that changed.

    Args:
        recent: arrays that were parsed before, the latest first.
        body: the body.
        at: its array.
        position: offset of the array's first byte, or of the byte behind the last item that is the
            same at the head.
        shared: how many are the same there.
    """
    for earlier in recent:
        items = earlier.items
        for first in range(shared + 1, min(shared + 1 + _CHANGED, len(items.parts))):
            start = body.find(items.parts[first].raw, position, at.end)
            if start < 0:
                continue
            by = start - at.start - items.starts[first]
            end = earlier.shared_items(body, Span(at.start + by, at.end), first)
            # To read more than is repeated would save nothing.
            if end == first or items.ends[end - 1] - items.starts[first] < start - position:
                continue
            between = _between(body, at, position, start)
            if between is not None:
                return Again(between, items.cut(first, end, by))
    return None


def _between(body: bytes, at: Span, position: int, end: int) -> list[Span] | None:
    """The items that stand there; None where there are none, or the bytes are not whole items.

    Where they are, what follows them is an item too, and stands in no string nor in another item.
    """
    is_first = position == at.start
    opening, begin = (b"[", position + 1) if is_first else (b"[0", position)
    text = body[begin:end].rstrip(b" \t\r\n")
    if not text.endswith(b","):
        return None
    array, shift = opening + text[:-1] + b"]", begin - len(opening)
    try:
        spans = list(jsontext.items(array, Span(0, len(array))))
    except InputError:
        return None
    own = spans if is_first else spans[1:]
    return [Span(span.start + shift, span.end + shift) for span in own] or None
