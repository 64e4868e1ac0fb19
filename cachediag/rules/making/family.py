"""Versions of one text, aligned: what is the same in all of them, and the pieces that change."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from cachediag.compare.text import hunks
from cachediag.rules.making.reach import UNKNOWN, reach

__all__ = ["At", "Family", "Slot", "family"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A piece that changes."""

    codes: frozenset[str]
    """The findings that it shows."""
    values: tuple[str, ...]
    """What stands there in each text."""

    @property
    def code(self) -> str:
        """The finding that a rule for the piece answers.

        The unknown one where there are several: what answers one need not do for the others.
        """
        return next(iter(self.codes)) if len(self.codes) == 1 else UNKNOWN


@dataclass(frozen=True, slots=True, order=True)
class At:
    """A place in all texts of a family: so many characters into one of the literals."""

    literal: int
    offset: int


@dataclass(frozen=True, slots=True)
class Family:
    """Texts that are `literals[0] + slots[0] + literals[1] + … + literals[-1]`."""

    texts: tuple[str, ...]
    literals: tuple[str, ...]
    slots: tuple[Slot, ...]

    def before(self, slot: int) -> At:
        """The place at which a slot begins."""
        return At(slot, len(self.literals[slot]))

    def behind(self, slot: int) -> At:
        """The place at which a slot ends."""
        return At(slot + 1, 0)

    @property
    def end(self) -> At:
        """The end of the text."""
        return At(len(self.slots), len(self.literals[-1]))

    def offset(self, at: At, text: int) -> int:
        """How many characters of one text stand before a place."""
        before = sum(map(len, self.literals[: at.literal]))
        before += sum(len(slot.values[text]) for slot in self.slots[: at.literal])
        return before + at.offset

    def spans(self, start: At, end: At) -> list[tuple[int, int]]:
        """What stands between two places, as offsets into each text."""
        numbers = range(len(self.texts))
        return [(self.offset(start, number), self.offset(end, number)) for number in numbers]

    def pieces(self, start: At, end: At) -> tuple[str, ...]:
        """What stands between two places, in each text."""
        spans = self.spans(start, end)
        return tuple(text[slice(*span)] for text, span in zip(self.texts, spans, strict=True))

    def line_start(self, at: At) -> At:
        """Where the line begins, in every text, that a place stands in."""
        number, offset = at.literal, at.offset
        while True:
            found = self.literals[number].rfind("\n", 0, offset) + 1
            if found or number == 0 or self._begins_lines(At(number, 0)):
                return At(number, found)
            number, offset = number - 1, len(self.literals[number - 1])

    def line_end(self, at: At) -> At:
        """Where the line ends, in every text, that a place stands in: before its line end."""
        number, offset = at.literal, at.offset
        while True:
            found = self.literals[number].find("\n", offset)
            if found >= 0:
                return At(number, found)
            if number == len(self.slots):
                return self.end
            number, offset = number + 1, 0

    def _begins_lines(self, at: At) -> bool:
        places = (self.offset(at, number) for number in range(len(self.texts)))
        return all(
            place == 0 or text[place - 1] == "\n"
            for text, place in zip(self.texts, places, strict=True)
        )


@dataclass(frozen=True, slots=True)
class _Piece:
    """`a[start:end]` of the first text became `b[start:end]` of another."""

    codes: frozenset[str]
    a: tuple[int, int]
    b: tuple[int, int]

    def joined(self, other: "_Piece") -> "_Piece":
        """The piece that reaches from the one to the other."""
        return _Piece(
            self.codes | other.codes,
            (min(self.a[0], other.a[0]), max(self.a[1], other.a[1])),
            (min(self.b[0], other.b[0]), max(self.b[1], other.b[1])),
        )

    @property
    def growth(self) -> int:
        """How many characters longer the other text is by it."""
        return (self.b[1] - self.b[0]) - (self.a[1] - self.a[0])


def family(texts: Sequence[str]) -> Family:
    """Align versions of one text.

    Args:
        texts: the first one seen, and others; no two are the same.
    """
    first = texts[0]
    rows = [_joined(_widened(first, other)) for other in texts[1:]]
    merged = _joined(sorted(chain.from_iterable(rows), key=lambda piece: piece.a))
    edges = [0, *chain.from_iterable(piece.a for piece in merged), len(first)]
    literals = tuple(first[edges[n] : edges[n + 1]] for n in range(0, len(edges), 2))
    aligned = zip(texts, ((), *rows), strict=True)
    columns = [list(_values(text, row, merged)) for text, row in aligned]
    slots = tuple(
        Slot(piece.codes, tuple(column[number] for column in columns))
        for number, piece in enumerate(merged)
    )
    return Family(tuple(texts), literals, slots)


def _values(text: str, row: Sequence[_Piece], merged: Sequence[_Piece]) -> Iterator[str]:
    """What stands in a text at each of the merged pieces of the first one."""
    shift = 0
    for piece in merged:
        start, end = piece.a
        growth = sum(each.growth for each in row if start <= each.a[0] and each.a[1] <= end)
        yield text[start + shift : end + shift + growth]
        shift += growth


def _joined(pieces: Iterable[_Piece]) -> list[_Piece]:
    """Pieces in order, those that meet in one."""
    made: list[_Piece] = []
    for piece in pieces:
        if made and piece.a[0] <= made[-1].a[1]:
            made[-1] = made[-1].joined(piece)
        else:
            made.append(piece)
    return made


def _widened(a: str, b: str) -> Iterator[_Piece]:
    """The pieces that differ, each as far as it reaches in either text, but not into the next."""
    found = hunks(a, b)
    behind = 0
    for number, hunk in enumerate(found):
        code = hunk.code or UNKNOWN
        left, right = map(
            max,
            reach(code, a, hunk.a_start, hunk.a_end),
            reach(code, b, hunk.b_start, hunk.b_end),
        )
        following = found[number + 1].a_start if number + 1 < len(found) else len(a)
        left = min(left, hunk.a_start - behind)
        right = min(right, following - hunk.a_end)
        yield _Piece(
            frozenset({code}),
            (hunk.a_start - left, hunk.a_end + right),
            (hunk.b_start - left, hunk.b_end + right),
        )
        behind = hunk.a_end
