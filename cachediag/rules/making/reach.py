"""How far a piece that changed reaches: the whole date, line, list or snapshot that it is part of.

Two versions seldom show all of what may change: from the 29th to the 30th only two digits do. Each
function here is given a text and a piece of it, and says how many characters more, to the left and
to the right, belong to the piece.
"""

import re
from collections.abc import Callable

from cachediag.compare.detectors import (
    counter,
    date_time,
    environment,
    line_order,
    random_id,
)
from cachediag.compare.detectors.patterns import words

__all__ = ["UNKNOWN", "reach"]

UNKNOWN = "V06"
"""The code of a piece whose kind no detector knows."""

_Reach = tuple[int, int]

_BULLET = re.compile(r"[ \t]*([-*•]|\d+[.)])[ \t]+")
_LABEL = re.compile(r"[ \t>*-]*[A-Za-z][\w ()/-]{0,60}:[ \t]+|[ \t]*<[\w-]+>")
_CLOSING = re.compile(r"</[\w-]+>[ \t]*$")
_HEADING = re.compile(r"#{1,6} |</?[A-Za-z]|.*:[ \t]*$")
_LIST_OPENS = re.compile(r"[:.;][ \t]+|[(\[{]")
_LIST_ENDS = re.compile(r"[:.;](?=\s|$)|[)\]}\n]|$")
_SENTENCE = re.compile(r"[.!?][\"')]*(?=[ \t]|$)")


def reach(code: str, text: str, start: int, end: int) -> _Reach:
    """How many characters before and behind a piece belong to it.

    Args:
        code: the finding that the piece shows.
        text: the whole text.
        start: where the piece begins.
        end: where it ends; an empty piece is a place at which something else stands elsewhere.
    """
    return _TABLE.get(code, _nothing)(text, start, end)


def _nothing(text: str, start: int, end: int) -> _Reach:  # noqa: ARG001
    return 0, 0


def _line(text: str, start: int, end: int) -> tuple[int, int]:
    """The lines that a piece stands in, without the last one's end."""
    behind = text.find("\n", max(start, end - 1) if text[start:end].endswith("\n") else end)
    return text.rfind("\n", 0, start) + 1, len(text) if behind < 0 else behind


def _word(text: str, start: int, end: int) -> _Reach:
    """The whole date, identifier or number."""
    left, right = _line(text, start, end)
    low, high = start, end
    for word in words(text[left:right]):
        if word.code and left + word.start <= end and start <= left + word.end:
            low, high = min(low, left + word.start), max(high, left + word.end)
    return start - low, high - end


def _sentence(text: str, start: int, end: int) -> _Reach:
    """The sentence within its line, or the whole line; nothing where the piece is whole lines."""
    left, right = _line(text, start, end)
    if start == left and (end == right + 1 or start == end):
        return 0, 0
    before = [match.end() for match in _SENTENCE.finditer(text, left, start)]
    behind = None if _ends_sentence(text, end) else _SENTENCE.search(text, end, right)
    return start - (before[-1] if before else left), (behind.end() if behind else right) - end


def _ends_sentence(text: str, end: int) -> bool:
    return text[end - 1 : end] in (".", "!", "?") and text[end : end + 1] in ("", " ", "\n")


def _snapshot(text: str, start: int, end: int) -> _Reach:
    """The rest of a line behind its label, or the lines of a section such as `Status:`."""
    left, right = _line(text, start, end)
    label = _LABEL.match(text, left, right)
    if label and label.end() <= start and "\n" not in text[start:end]:
        closing = _CLOSING.search(text, end, right)
        return start - label.end(), (closing.start() if closing else right) - end
    return _run(text, start, end, lambda line: bool(line.strip()) and not _HEADING.match(line))


def _list(text: str, start: int, end: int) -> _Reach:
    """All lines of a list, or all items between what opens and what ends it."""
    left, right = _line(text, start, end)
    if start < end and "\n" not in text[start:end]:
        opened = [match.end() for match in _LIST_OPENS.finditer(text, left, start)]
        ended = _LIST_ENDS.search(text, end, right)
        return start - (opened[-1] if opened else left), (ended.start() if ended else right) - end
    bullet = _BULLET.match(text, left)
    if bullet is None:
        return _run(text, start, end, lambda line: bool(line.strip()) and not _HEADING.match(line))
    kind = _kind(bullet)
    return _run(text, start, end, lambda line: (m := _BULLET.match(line)) and _kind(m) == kind)


def _kind(bullet: re.Match[str]) -> str:
    return bullet[0].strip() if not bullet[1][0].isdigit() else bullet[1][-1]


def _run(text: str, start: int, end: int, belongs: Callable[[str], object]) -> _Reach:
    """The whole lines around a piece, as long as they belong to it, with their ends."""
    opened = low = text.rfind("\n", 0, start) + 1
    while low > 0:
        above = text.rfind("\n", 0, low - 1) + 1
        if not belongs(text[above : low - 1]):
            break
        low = above
    is_whole = start == opened and (start == end or text[end - 1] == "\n")
    high = end if is_whole else _after_line(text, end)
    while high < len(text):
        below = _after_line(text, high)
        if not belongs(text[high:below].rstrip("\n")):
            break
        high = below
    return start - low, high - end


def _after_line(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


_TABLE: dict[str, Callable[[str, int, int], _Reach]] = {
    date_time.CODE: _word,
    random_id.CODE: _word,
    counter.CODE: _word,
    environment.CODE: _snapshot,
    line_order.CODE: _list,
    UNKNOWN: _sentence,
}
