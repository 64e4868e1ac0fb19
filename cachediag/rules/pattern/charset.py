"""Sets of characters, as ranges of code points: what a class in a pattern stands for."""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ANY", "DIGIT", "LINE", "SPACE", "WORD", "CharSet", "char"]

_LAST = 0x10FFFF
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# What must be escaped in a class, to Python's `re` and to JavaScript under its flag u alike.
_ESCAPED = frozenset("\\]^-[")


@dataclass(frozen=True)
class CharSet:
    """Some characters: ranges of code points, both ends included, sorted and apart."""

    ranges: tuple[tuple[int, int], ...]

    @staticmethod
    def of(ranges: Iterable[tuple[int, int]]) -> "CharSet":
        """The set of all characters in some ranges."""
        merged: list[tuple[int, int]] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(merged[-1][1], high)
            else:
                merged.append((low, high))
        return CharSet(tuple(merged))

    def __or__(self, other: "CharSet") -> "CharSet":
        return CharSet.of((*self.ranges, *other.ranges))

    def without(self, other: "CharSet") -> "CharSet":
        """These characters but for those of another set."""
        return (self.others() | other).others()

    def others(self) -> "CharSet":
        """Every character that is not in the set."""
        found, low = [], 0
        for start, end in self.ranges:
            if low < start:
                found.append((low, start - 1))
            low = end + 1
        if low <= _LAST:
            found.append((low, _LAST))
        return CharSet(tuple(found))

    def meets(self, other: "CharSet") -> bool:
        """Whether the two have a character in common."""
        return any(
            low <= end and start <= high for low, high in self.ranges for start, end in other.ranges
        )

    def source(self) -> str:
        """The set as a class in a regular expression, the same in Python and in JavaScript."""
        shown = (
            _shown(low) if low == high else f"{_shown(low)}-{_shown(high)}"
            for low, high in self.ranges
        )
        return f"[{''.join(shown)}]"


def _shown(point: int) -> str:
    one = chr(point)
    if one in _ESCAPED:
        return f"\\{one}"
    if one in _NAMED:
        return _NAMED[one]
    if point <= 0xFFFF and not one.isprintable():
        return f"\\u{point:04x}"
    return one


def char(one: str) -> CharSet:
    """The set of one character."""
    return CharSet(((ord(one), ord(one)),))


ANY = CharSet(((0, _LAST),))
LINE = ANY.without(char("\n"))
"""What stands within a line."""
DIGIT = CharSet(((0x30, 0x39),))
WORD = CharSet(((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)))
SPACE = CharSet.of((ord(one), ord(one)) for one in " \t\n\r\f\v")
