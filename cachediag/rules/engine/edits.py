"""Changes to a body as pieces of its own bytes, and the body that they make."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cachediag.protocol.jsontext import Span
from cachediag.rules.engine.ordered import Ordered

__all__ = ["Edit", "Edits"]


@dataclass(frozen=True)
class Edit:
    """`body[start:end]` becomes other pieces: new bytes, or what stands elsewhere in the body."""

    start: int
    end: int
    pieces: tuple[bytes | Span, ...] = ()
    is_slot: bool = False
    """One of several whole values that change places; each may be changed inside as well."""


class Edits:
    """The changes to one body, none of which meets another."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._edits: list[Edit] = []
        # Told apart so that each question is a search. No two of `_fixed` meet one another, and
        # what stands in slots, which may stand in slots again, is wholly within each of them.
        self._spans: set[tuple[int, int]] = set()
        self._fixed, self._points = Ordered(), Ordered()
        self._starts, self._ends = Ordered(), Ordered()

    def add(self, edits: Iterable[Edit]) -> bool:
        """Add changes that belong together.

        Returns:
            Whether they were added: all of them, or none where one meets an earlier change.
        """
        new = tuple(edits)
        if any(map(self._meets, new)):
            return False
        for edit in new:
            self._keep(edit)
        return True

    def body(self) -> bytes:
        """The changed body; the very same object where nothing was changed."""
        if not self._edits:
            return self._body
        edits = sorted(self._edits, key=lambda edit: (edit.start, -edit.end))
        starts = [edit.start for edit in edits]
        return b"".join(_written(self._body, Span(0, len(self._body)), edits, starts))

    def _keep(self, edit: Edit) -> None:
        start, end = edit.start, edit.end
        self._edits.append(edit)
        if start == end:
            self._points.add(start, end)
            return
        self._spans.add((start, end))
        self._starts.add(start, end)
        self._ends.add(end, start)
        if not edit.is_slot:
            self._fixed.add(start, end)

    def _meets(self, edit: Edit) -> bool:
        """Whether a change cannot be made beside those before it."""
        start, end = edit.start, edit.end
        around = self._fixed.last_before(start)
        if around is not None and around[1] > start:
            return True
        if start == end:
            # What is put in between two values meets nothing; in the middle of one that goes, it
            # does.
            return False
        beginning = tuple(self._fixed.between(start - 1, start + 1))
        if (start, end) in self._spans or any(behind > end for _, behind in beginning):
            return True
        if edit.is_slot:
            # A value that changes its place may be changed inside.
            return any(behind > end for _, behind in self._starts.between(start, end)) or any(
                before < start for _, before in self._ends.between(start, end)
            )
        inside = (self._starts, start - 1), (self._ends, start), (self._points, start)
        return any(
            each is not self._starts or number > start or other < end
            for each, low in inside
            for number, other in each.between(low, end)
        )


def _written(body: bytes, span: Span, edits: list[Edit], starts: list[int]) -> Iterator[bytes]:
    position, number = span.start, bisect_left(starts, span.start)
    while number < len(edits) and edits[number].start <= span.end:
        edit = edits[number]
        number += 1
        # What was moved is not moved, or taken away, once more.
        moved = (edit.start, edit.end) == span
        if moved or edit.end > span.end or edit.start < position:
            continue
        yield body[position : edit.start]
        for piece in edit.pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                yield from _written(body, piece, edits, starts)
        position = edit.end
        # What stands in a slot was written with it.
        number = bisect_left(starts, position, number)
    yield body[position : span.end]
