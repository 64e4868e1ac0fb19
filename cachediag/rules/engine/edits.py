"""Changes to a body as pieces of its own bytes, and the body that they make."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cachediag.protocol.jsontext import Span

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
        self._groups: list[tuple[Span, tuple[Edit, ...]]] = []

    def add(self, edits: Iterable[Edit]) -> bool:
        """Add changes that belong together.

        Returns:
            Whether they were added: all of them, or none where one meets an earlier change.
        """
        new = tuple(edits)
        if not new:
            return True
        hull = Span(min(edit.start for edit in new), max(edit.end for edit in new))
        for other, group in self._groups:
            near = other.start <= hull.end and hull.start <= other.end
            if near and any(_meet(one, two) for one in new for two in group):
                return False
        self._groups.append((hull, new))
        return True

    def body(self) -> bytes:
        """The changed body; the very same object where nothing was changed."""
        if not self._groups:
            return self._body
        edits = [edit for _, group in self._groups for edit in group]
        edits.sort(key=lambda edit: (edit.start, -edit.end))
        starts = [edit.start for edit in edits]
        return b"".join(_written(self._body, Span(0, len(self._body)), edits, starts))


def _written(body: bytes, span: Span, edits: list[Edit], starts: list[int]) -> Iterator[bytes]:
    position = span.start
    for number in range(bisect_left(starts, span.start), len(edits)):
        edit = edits[number]
        if edit.start > span.end:
            break
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
    yield body[position : span.end]


def _meet(one: Edit, other: Edit) -> bool:
    """Whether two changes cannot both be made."""
    if one.start == one.end or other.start == other.end:
        # What is put in between two values meets nothing; in the middle of one that goes, it does.
        point, around = (one, other) if one.start == one.end else (other, one)
        return around.start < point.start < around.end and not around.is_slot
    if one.end <= other.start or other.end <= one.start:
        return False
    return not (_holds(one, other) or _holds(other, one))


def _holds(outer: Edit, inner: Edit) -> bool:
    """Whether a value that changes its place is changed inside."""
    within = outer.start <= inner.start and inner.end <= outer.end
    same = (outer.start, outer.end) == (inner.start, inner.end)
    return outer.is_slot and within and not same
