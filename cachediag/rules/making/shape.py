r"""The values of a piece of text → the pattern that all of them have in common.

Values that are built alike (`2026-11-29`, `2026-12-03`) give a pattern of that build
(`\d{4}-\d{2}-\d{2}`); others give one class of characters and a length.
"""

import re
import string
from collections.abc import Collection, Iterator, Sequence

from cachediag.compare.detectors import counter, date_time, environment, line_order, random_id
from cachediag.rules.pattern import literal

__all__ = ["shape", "white_shape"]

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NAMES = tuple(
    tuple(spell(name) for name in names)
    for full in (_MONTHS, _DAYS)
    for names in (full, tuple(name[:3] for name in full))
    for spell in (str, str.upper, str.lower)
)
"""Words of which a date may hold any, once it holds one of them."""
_ORDINALS = ("st", "nd", "rd", "th")
_HALVES = (("AM", "PM"), ("am", "pm"))
_UNIT = re.compile(r"[^\W_]+|[\s\S]")
_DATE_UNIT = re.compile(r"\d+|[^\W\d_]+|[\s\S]")
_GAP = re.compile(r"\s*")
_CLASSES = (
    (r"\d", string.digits),
    ("[0-9a-f]", "0123456789abcdef"),
    ("[0-9A-F]", "0123456789ABCDEF"),
    ("[a-z]", string.ascii_lowercase),
    ("[A-Z]", string.ascii_uppercase),
    ("[0-9a-z]", string.digits + string.ascii_lowercase),
    ("[0-9A-Z]", string.digits + string.ascii_uppercase),
    ("[0-9A-Za-z]", string.digits + string.ascii_letters),
)
# A number may grow to this many digits: to the year 2286 in milliseconds, and more.
_LONGEST_NUMBER = 15
# Free text is bounded by what is seen, and by no less than these.
_LEAST_LINE, _LEAST_LINES = 200, 2_000
_SLACK = 2
_MOST_MARKS = 4


def shape(values: Collection[str], code: str) -> str:
    """The pattern, without a group, that each of some values matches as a whole.

    Args:
        values: what was seen in one place; they may be empty texts.
        code: the finding, which says what further values may come.
    """
    seen = tuple(dict.fromkeys(values))
    filled = [value for value in seen if value]
    if not filled:
        return ""
    if any("\n" in value for value in filled):
        return _lines(filled)
    if code in (environment.CODE, line_order.CODE):
        return _line(filled) if len(filled) == len(seen) else f"(?:{_line(filled)})?"
    made = literal(filled[0]) if len(filled) == 1 and not _moves(filled[0], code) else None
    if code == counter.CODE and all(re.fullmatch(r"[\d.,]*\d", value) for value in filled):
        made = _number(filled)
    made = made or _by_units(filled, code) or _as_one(filled)
    return made if len(filled) == len(seen) else f"(?:{made})?"


def _moves(value: str, code: str) -> bool:
    """Whether another value is to be expected, though one alone was seen."""
    return code == date_time.CODE or (code == random_id.CODE and any(map(str.isdigit, value)))


def _number(values: Sequence[str]) -> str:
    marks = sorted({one for value in values for one in value if not one.isdigit()})
    if not marks:
        return rf"\d{{1,{_LONGEST_NUMBER}}}"
    return rf"[\d{''.join(marks)}]{{0,{_LONGEST_NUMBER + 4}}}\d"


def _by_units(values: Sequence[str], code: str) -> str | None:
    """The pattern of values that have the same build: alike words between the same marks."""
    unit = _DATE_UNIT if code == date_time.CODE else _UNIT
    rows = [unit.findall(value) for value in values]
    if len({len(row) for row in rows}) != 1:
        return None
    columns = list(zip(*rows, strict=True))
    if code == random_id.CODE:
        columns = [_drawn(column, columns) for column in columns]
    made = []
    for number, column in enumerate(columns):
        mark = columns[number - 1][0] if number else ""
        one = _column(column, mark, code)
        if one is None:
            return None
        made.append(one)
    return "".join(made)


def _drawn(column: tuple[str, ...], columns: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """A part of an identifier with what any part of it may hold, written as further draws.

    Few draws do not show all: one part of a uuid may have come out in digits each time.
    """
    if not _is_drawn(column):
        return column
    longest = max(map(len, column))
    seen = {one for other in columns if _is_drawn(other) for word in other for one in word}
    # Decimal digits alone are rarer than a few draws of hexadecimal ones.
    letters = seen if any(one.isalpha() for one in seen) else seen | set("af")
    return (*column, *(one * longest for one in sorted(letters)))


def _is_drawn(column: Sequence[str]) -> bool:
    return all(word.isalnum() for word in column) and (
        len(set(column)) > 1 or any(map(str.isdigit, column[0]))
    )


def _column(column: Sequence[str], mark: str, code: str) -> str | None:
    """The pattern of one word of the values.

    Args:
        column: the word in each value.
        mark: what stands before it.
        code: the finding.
    """
    words = tuple(dict.fromkeys(column))
    if not all(word.isalnum() for word in words):
        return literal(words[0]) if len(words) == 1 else None
    if code == date_time.CODE:
        return _date_word(words, mark)
    if len(words) == 1 and not any(map(str.isdigit, words[0])):
        return literal(words[0])
    made = _class_of("".join(words))
    if made is None:
        return None
    low, high = min(map(len, words)), max(map(len, words))
    return made + (_count(low, high) if code == random_id.CODE else _loose_count(low, high))


def _date_word(words: Sequence[str], mark: str) -> str | None:
    if all(word.isascii() and word.isdigit() for word in words):
        low, high = min(map(len, words)), max(map(len, words))
        # `2026-01-05` keeps its noughts; `5 January`, or the hour of `9:05`, may have one digit.
        padded = any(word[0] == "0" for word in words) or mark in ("-", ":", "T")
        if high > 2 or (low == high == 2 and padded):
            return rf"\d{_count(low, high, slack=0)}"
        return r"\d{1,2}"
    for names in (*_NAMES, _ORDINALS, *_HALVES):
        if set(words) <= set(names):
            return f"(?:{'|'.join(names)})"
    if len(words) == 1:
        return literal(words[0])
    made = _class_of("".join(words))
    return made and made + _loose_count(min(map(len, words)), max(map(len, words)))


def _class_of(characters: str) -> str | None:
    return next((name for name, known in _CLASSES if set(characters) <= set(known)), None)


def _count(low: int, high: int, slack: int = _SLACK) -> str:
    """Exactly so many where all have one length; else a little more and less than was seen."""
    if low == high:
        return "" if low == 1 else f"{{{low}}}"
    return f"{{{max(1, low - slack)},{high + slack}}}"


def _loose_count(low: int, high: int) -> str:
    return f"{{{max(1, low - _SLACK)},{high + _SLACK}}}"


def _as_one(values: Sequence[str]) -> str:
    """One class for all characters of values that have nothing in common."""
    characters = "".join(values)
    marks = "".join(sorted({one for one in characters if one.isascii() and not one.isalnum()}))
    few = characters.isascii() and len(marks) <= _MOST_MARKS and " " not in marks
    low, high = min(map(len, values)), max(map(len, values))
    if few:
        made = _class_of("".join(one for one in characters if one.isalnum()) or "0") or "."
        inside = made[1:-1] if made.startswith("[") else made
        escaped = "".join(f"\\{one}" if one in "\\]^-[" else one for one in marks)
        return f"[{inside}{escaped}]{_loose_count(low, high)}"
    return _line(values)


def _line(values: Sequence[str]) -> str:
    spaced = any(one.isspace() for value in values for one in value)
    longest = max(_LEAST_LINE, 2 * max(map(len, values)))
    return ("." if spaced else r"\S") + f"{{1,{longest}}}"


def _lines(values: Sequence[str]) -> str:
    return rf"[\s\S]{{0,{max(_LEAST_LINES, 2 * max(map(len, values)))}}}?"


def white_shape(values: Collection[str]) -> str | None:
    """The pattern of texts that are the same but for white space; None where they are not."""
    seen = tuple(dict.fromkeys(values))
    solid = "".join(seen[0].split())
    if any("".join(value.split()) != solid for value in seen):
        return None
    rows = [list(_gaps(value)) for value in seen]
    made = []
    for number, gap in enumerate(zip(*rows, strict=True)):
        made.append(_gap(gap))
        made.append(literal(solid[number : number + 1]))
    return "".join(made)


def _gaps(value: str) -> Iterator[str]:
    """The white space before each other character, and behind the last."""
    position = 0
    while True:
        gap = _GAP.match(value, position)
        assert gap is not None
        yield gap.group()
        position = gap.end() + 1
        if position > len(value):
            return


def _gap(gaps: Sequence[str]) -> str:
    if len(set(gaps)) == 1:
        return literal(gaps[0])
    seen = sorted({one for gap in gaps for one in gap})
    inside = "".join(literal(one) for one in seen)
    low, high = min(map(len, gaps)), max(map(len, gaps))
    count = "?" if (low, high) == (0, 1) else f"{{{low},{high}}}"
    return (inside if len(seen) == 1 else f"[{inside}]") + count
