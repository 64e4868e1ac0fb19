"""Spans of text that change by their nature: the table that masks a line.

Each span detector is a file with `CODE` and `PATTERN`; a line's spans are found in the table's
order, and a span that one detector took is not offered to the next.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from cachediag.compare.detectors import billing_header, counter, date_time, random_id

__all__ = ["Word", "mask", "words"]

_TABLE = (billing_header, date_time, random_id, counter)
_PATTERN = re.compile(
    "|".join(f"(?P<{module.CODE}>{module.PATTERN})" for module in _TABLE), re.IGNORECASE
)
# A longer line is data, not prose: masking it would cost time and say nothing.
_LONGEST_LINE = 20_000
# The later line of a pair is the earlier one of the next.
_REMEMBERED = 256


# A combining accent is part of its word, though not of \w.
_WORD = re.compile(r"[\w\u0300-\u036f]+|\s+|[^\w\s]")


class Word(NamedTuple):
    """A word of a line, or a volatile-looking span as one word: `line[start:end]`.

    `masked` is the same in two versions that differ by their nature only; `code` says what the
    span looks like, and is None for an ordinary word.
    """

    start: int
    end: int
    masked: str
    code: str | None


@lru_cache(maxsize=_REMEMBERED)
def words(line: str) -> tuple[Word, ...]:
    """The words of a line, volatile-looking spans kept whole; together they are the line."""
    found: list[Word] = []
    position = 0
    volatile = _PATTERN.finditer(line) if len(line) <= _LONGEST_LINE else iter(())
    for match in volatile:
        code = str(match.lastgroup)
        found += _ordinary(line, position, match.start())
        found.append(Word(match.start(), match.end(), f"\0{code}\0", code))
        position = match.end()
    return (*found, *_ordinary(line, position, len(line)))


def _ordinary(line: str, start: int, end: int) -> list[Word]:
    return [
        Word(match.start(), match.end(), match.group(), None)
        for match in _WORD.finditer(line, start, end)
    ]


@lru_cache(maxsize=_REMEMBERED)
def mask(line: str) -> str:
    """The line with each volatile span replaced by its code: what two versions of it share."""
    if len(line) > _LONGEST_LINE:
        return line
    return _PATTERN.sub(lambda match: f"\0{match.lastgroup}\0", line)
