r"""A piece of a family of texts → the pattern that finds it, and nothing else.

The pattern has the text on both sides of the piece as it stands, from the start of a line on, and
as much of it as it takes to be found once. Where that is not the line itself, the lines before are
taken in, and at last the whole text from its start (`\A`).
"""

import re
from collections.abc import Callable, Iterator

from cachediag.compare.detectors import date_time
from cachediag.compare.detectors.patterns import words
from cachediag.rules.making.family import At, Family
from cachediag.rules.making.shape import shape
from cachediag.rules.pattern import PatternError, compiled, literal

__all__ = ["infer", "unique", "written"]

Shapes = Callable[[int], str]
"""The pattern of a family's slot, by its number."""

_MOST_LINES = 6
# A literal that is longer is written by its ends; what is between them is counted.
_LONGEST_LITERAL = 160
_END = 60
_SHORT = 24
_FURTHEST = 2_000
# What stands for any text at all is told by the words around it alone.
_FREE = re.compile(r"(?:\[\\s\\S\]|(?<!\\)\.|\\S)\{")
_WORD = re.compile(r"\w{2,}")
_WORD_END = re.compile(r"\W")


def infer(family: Family, start: At, end: At, shapes: Shapes, *, code: str = "") -> str | None:
    """The shortest pattern that marks one piece in every text of a family.

    Args:
        family: the texts.
        start: where the piece begins.
        end: where it ends.
        shapes: the pattern of each slot.
        code: the finding; of a date or time every other one in the piece may change as well.

    Returns:
        The pattern; None where nothing in the language finds that piece alone.
    """
    inside = _dated(family, start, end, shapes) if code == date_time.CODE else None
    inside = inside or written(family, start, end, shapes)
    is_free = _FREE.search(inside) is not None
    for left in _lefts(family, start):
        before = written(family, left, start, shapes)
        for right in _rights(family, end):
            behind = written(family, end, right, shapes) + _closing(family, right)
            # Without a context the match is the piece.
            piece = inside if left == start and right == end else f"({inside})"
            made = _opening(left) + before + piece + behind
            if is_free and not _has_words(family, left, right):
                continue
            if unique(made, family, start, end):
                return made
    return None


def _has_words(family: Family, left: At, right: At) -> bool:
    """Whether any word between two places is the same in all texts."""
    for number in range(left.literal, right.literal + 1):
        low = left.offset if number == left.literal else 0
        high = right.offset if number == right.literal else None
        if _WORD.search(family.literals[number][low:high]):
            return True
    return False


def unique(pattern: str, family: Family, start: At, end: At) -> bool:
    """Whether a pattern is sound and marks, in each text, the piece between two places alone.

    False too for one that the rules' language refuses.
    """
    try:
        pattern.encode()
        made = compiled(pattern)
    except (PatternError, UnicodeEncodeError):
        return False
    spans = family.spans(start, end)
    return all(made.pieces(text) == [span] for text, span in zip(family.texts, spans, strict=True))


def _opening(left: At) -> str:
    return r"\A" if left == At(0, 0) else "^"


def _closing(family: Family, right: At) -> str:
    if right == family.end:
        return r"\z"
    return "$" if family.literals[right.literal].startswith("\n", right.offset) else ""


def _lefts(family: Family, start: At) -> Iterator[At]:
    """Where a pattern for a piece may begin, the nearest place first."""
    at = family.line_start(start)
    for _ in range(_MOST_LINES):
        yield at
        if at == At(0, 0):
            return
        at = family.line_start(_one_back(family, at))
    if max(family.offset(start, n) for n in range(len(family.texts))) <= _FURTHEST:
        yield At(0, 0)


def _one_back(family: Family, at: At) -> At:
    """The place before the line end that a place stands behind."""
    while at.offset == 0 and at.literal:
        at = family.before(at.literal - 1)
        if at.offset:
            return at
    return At(at.literal, max(0, at.offset - 1))


def _rights(family: Family, end: At) -> Iterator[At]:
    """Where a pattern for a piece may end, the nearest place first."""
    if end.offset and family.literals[end.literal][end.offset - 1] == "\n":
        # Whole lines end themselves.
        yield end
    at = end
    for _ in range(_MOST_LINES):
        yield from _within_line(family, at)
        at = family.line_end(at)
        yield at
        if at == family.end:
            return
        at = At(at.literal, at.offset + 1)


def _within_line(family: Family, at: At) -> Iterator[At]:
    """Places in a line that are far enough from a place in it to tell it from others."""
    line = family.literals[at.literal][at.offset :].partition("\n")[0]
    changing = next((word.start for word in words(line) if word.code), len(line))
    if len(_WORD.findall(line[:changing].rstrip())) > 1:
        # What may change one day is left out.
        yield At(at.literal, at.offset + min(changing, _short(line)))
    elif len(line) > _SHORT:
        yield At(at.literal, at.offset + _short(line))


def _short(line: str) -> int:
    stop = _WORD_END.search(line, _SHORT)
    return stop.start() if stop else len(line)


def written(family: Family, start: At, end: At, shapes: Shapes) -> str:
    """The pattern of what stands between two places."""
    made = []
    for number in range(start.literal, end.literal + 1):
        low = start.offset if number == start.literal else 0
        high = end.offset if number == end.literal else None
        made.append(_literal(family.literals[number][low:high]))
        if number < end.literal:
            made.append(shapes(number))
    return "".join(made)


def _literal(text: str) -> str:
    if len(text) <= _LONGEST_LITERAL:
        return literal(text)
    between = text[_END:-_END]
    one = r"[\s\S]" if "\n" in between else "."
    return f"{literal(text[:_END])}{one}{{{len(between)}}}{literal(text[-_END:])}"


def _dated(family: Family, start: At, end: At, shapes: Shapes) -> str | None:
    """The pattern of a piece in which every date and time may change, also those that did not."""
    made = []
    for number in range(start.literal, end.literal + 1):
        low = start.offset if number == start.literal else 0
        high = end.offset if number == end.literal else None
        text = family.literals[number][low:high]
        if len(text) > _LONGEST_LITERAL:
            return None
        made += [
            shape([text[word.start : word.end]], date_time.CODE)
            if word.code == date_time.CODE
            else literal(text[word.start : word.end])
            for word in words(text)
        ]
        if number < end.literal:
            made.append(shapes(number))
    return "".join(made)
