"""Pairs of numbers in order, to which others are added anywhere."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

__all__ = ["Ordered"]

_MOST = 2_000


class Ordered:
    """Pairs by their first number, in pieces, so that one put in between moves few others."""

    def __init__(self) -> None:
        self._pieces: list[list[tuple[int, int]]] = [[]]
        self._firsts = [-1]
        """The first number of each piece but the first one, which takes whatever is less."""

    def add(self, number: int, other: int) -> None:
        """Add a pair."""
        at = bisect_right(self._firsts, number) - 1
        piece = self._pieces[at]
        insort(piece, (number, other))
        if len(piece) > _MOST:
            # Where pairs come in order, the full piece is left as it is.
            half = _MOST if piece[-1] == (number, other) else _MOST // 2
            half = bisect_left(piece, (piece[half][0], -1))
            if half:
                self._pieces[at : at + 1] = [piece[:half], piece[half:]]
                self._firsts.insert(at + 1, piece[half][0])

    def last_before(self, number: int) -> tuple[int, int] | None:
        """The last pair whose first number is less."""
        for at in range(bisect_left(self._firsts, number) - 1, -1, -1):
            place = bisect_left(self._pieces[at], (number, -1))
            if place:
                return self._pieces[at][place - 1]
        return None

    def between(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The pairs whose first number is more than `low` and less than `high`."""
        at = bisect_right(self._firsts, low) - 1
        place = bisect_left(self._pieces[at], (low + 1, -1)) if at >= 0 else 0
        for number in range(max(at, 0), len(self._pieces)):
            piece = self._pieces[number]
            while place < len(piece):
                if piece[place][0] >= high:
                    return
                yield piece[place]
                place += 1
            place = 0
