"""Two versions of one text → the pieces that changed, each with the code of its kind."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from cachediag.compare.detectors import (
    billing_header,
    counter,
    date_time,
    environment,
    line_order,
    patterns,
    random_id,
    unicode_form,
    white_space,
)
from cachediag.heads import common_head

__all__ = ["Hunk", "hunks", "similarity"]

_WORD = re.compile(r"[^\W_]*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# difflib's cost grows with the square; beyond these the texts have little in common anyway.
_MOST_LINES = 2_000
_MOST_WORDS = 1_000
_LONGEST_LINE = 20_000


@dataclass(frozen=True, slots=True)
class Hunk:
    """One changed piece: `before[a_start:a_end]` became `after[b_start:b_end]`.

    `code` is None where no detector knows the kind, so that the place decides it.
    """

    code: str | None
    a_start: int
    a_end: int
    b_start: int
    b_end: int


@dataclass(frozen=True, slots=True)
class _Lines:
    """A text, its lines, and where each begins; one more offset marks the end."""

    text: str
    lines: list[str]
    offsets: list[int]

    def between(self, lines: range) -> tuple[int, int]:
        """The offsets of a run of lines."""
        return self.offsets[lines.start], self.offsets[lines.stop]


def _split(text: str) -> _Lines:
    lines = text.splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return _Lines(text, lines, offsets)


def similarity(before: str, after: str) -> float:
    """The share of the longer text, 0 to 1, that the two have in common by lines or at the ends."""
    longest = max(len(before), len(after))
    if longest == 0:
        return 1.0
    head, tail = _common(before, after)
    known = set(before.splitlines())
    shared = sum(len(line) + 1 for line in after.splitlines() if line in known)
    return max(head + tail, min(shared, len(before), len(after))) / longest


def _common(before: str, after: str) -> tuple[int, int]:
    """Lengths of the common head and of the common tail, which do not overlap."""
    head = common_head(before, after)
    tail = common_head(before[head:][::-1], after[head:][::-1])
    return head, tail


def hunks(before: str, after: str) -> list[Hunk]:
    """The pieces of a text that changed, in order; none where the texts are equal.

    Each put back to what it was, the last first, `after` is `before` again.
    """
    if before == after:
        return []
    for detector in (white_space, unicode_form):
        if detector.explains(before, after):
            return [_trimmed(detector.CODE, before, after, (0, len(before)), (0, len(after)))]
    a, b = _split(before), _split(after)
    if line_order.same_lines(a.lines, b.lines):
        return [_trimmed(line_order.CODE, before, after, (0, len(before)), (0, len(after)))]
    found = _reordered(before, after, list(_line_hunks(a, b)))
    return [
        _trimmed(h.code, before, after, (h.a_start, h.a_end), (h.b_start, h.b_end)) for h in found
    ]


def _line_hunks(a: _Lines, b: _Lines) -> Iterator[Hunk]:
    for a_lines, b_lines, alike in _aligned(a.lines, b.lines):
        if alike or len(a_lines) == len(b_lines):
            for i, j in zip(a_lines, b_lines, strict=True):
                if a.lines[i] != b.lines[j]:
                    yield from _line_change(a, b, i, j)
        else:
            yield _lines_change(a, b, a_lines, b_lines)


def _aligned(a: list[str], b: list[str]) -> Iterator[tuple[range, range, bool]]:
    """Runs of lines that stand for one another; `True` where they differ in volatile spans only."""
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    a_end, b_end = len(a) - tail, len(b) - tail
    if max(a_end, b_end) - head > _MOST_LINES:
        yield range(head, a_end), range(head, b_end), False
        return
    masked = [patterns.mask(line) for line in a[head:a_end]]
    for tag, i1, i2, j1, j2 in _opcodes(masked, [patterns.mask(line) for line in b[head:b_end]]):
        yield range(head + i1, head + i2), range(head + j1, head + j2), tag == "equal"


def _opcodes(a: list[str], b: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """What difflib makes of two lists; of equal ones, the usual case, it need not be asked."""
    if a == b:
        return (("equal", 0, len(a), 0, len(b)),)
    return SequenceMatcher(None, a, b).get_opcodes()


def _line_change(a: _Lines, b: _Lines, i: int, j: int) -> Iterator[Hunk]:
    line_a, line_b = a.lines[i], b.lines[j]
    whole = a.between(range(i, i + 1)), b.between(range(j, j + 1))
    code = _kind_of_line(line_a, line_b)
    if code is not None:
        yield _trimmed(code, a.text, b.text, *whole)
        return
    snapshot = environment.in_snapshot(b.lines, j)
    found = list(_word_changes(line_a, line_b))
    reworded = any(word_code is None for _, _, word_code in found)
    for x, y, word_code in found:
        in_snapshot = snapshot and word_code not in (billing_header.CODE, date_time.CODE)
        kind = environment.CODE if in_snapshot else word_code
        # `3 open, the oldest is A` → `2 open, the oldest is B` is no counter, but another text.
        kind = None if reworded and kind == counter.CODE else kind
        a_range = whole[0][0] + x[0], whole[0][0] + x[1]
        b_range = whole[1][0] + y[0], whole[1][0] + y[1]
        yield _trimmed(kind, a.text, b.text, a_range, b_range)


def _kind_of_line(line_a: str, line_b: str) -> str | None:
    if white_space.explains(line_a, line_b):
        return white_space.CODE
    if unicode_form.explains(line_a, line_b):
        return unicode_form.CODE
    if line_order.same_items(line_a, line_b):
        return line_order.CODE
    return None


def _word_changes(
    line_a: str, line_b: str
) -> Iterator[tuple[tuple[int, int], tuple[int, int], str | None]]:
    if max(len(line_a), len(line_b)) > _LONGEST_LINE:
        yield (0, len(line_a)), (0, len(line_b)), None
        return
    a, b = patterns.words(line_a), patterns.words(line_b)
    if max(len(a), len(b)) > _MOST_WORDS:
        yield (0, len(line_a)), (0, len(line_b)), None
        return
    for tag, i1, i2, j1, j2 in _opcodes([w.masked for w in a], [w.masked for w in b]):
        if tag == "equal":
            for x, y in zip(a[i1:i2], b[j1:j2], strict=True):
                if line_a[x.start : x.end] != line_b[y.start : y.end]:
                    yield (x.start, x.end), (y.start, y.end), x.code
            continue
        x_range = a[i1].start if i1 < len(a) else len(line_a), a[i2 - 1].end if i2 > i1 else 0
        y_range = b[j1].start if j1 < len(b) else len(line_b), b[j2 - 1].end if j2 > j1 else 0
        x_range = x_range[0], max(x_range)
        y_range = y_range[0], max(y_range)
        yield x_range, y_range, _kind_of_words(line_a[slice(*x_range)], line_b[slice(*y_range)])


def _kind_of_words(before: str, after: str) -> str | None:
    if white_space.explains(before, after):
        return white_space.CODE
    if unicode_form.explains(before, after):
        return unicode_form.CODE
    if random_id.looks_random(before, after):
        return random_id.CODE
    if _NUMBER.fullmatch(before) and _NUMBER.fullmatch(after):
        return counter.CODE
    return None


def _lines_change(a: _Lines, b: _Lines, a_lines: range, b_lines: range) -> Hunk:
    a_range, b_range = a.between(a_lines), b.between(b_lines)
    text_a, text_b = a.text[slice(*a_range)], b.text[slice(*b_range)]
    if not text_a.strip() and not text_b.strip():
        code: str | None = white_space.CODE
    elif environment.in_snapshot(a.lines, a_lines.start) or environment.in_snapshot(
        b.lines, b_lines.start
    ):
        code = environment.CODE
    else:
        code = None
    return Hunk(code, *a_range, *b_range)


def _reordered(before: str, after: str, found: list[Hunk]) -> list[Hunk]:
    """Call whole lines that are gone here and back there what they are: a change of order."""
    loose = [
        hunk
        for hunk in found
        if hunk.code in (None, environment.CODE)
        and _whole_lines(before, hunk.a_start, hunk.a_end)
        and _whole_lines(after, hunk.b_start, hunk.b_end)
    ]
    gone = [line for h in loose for line in before[h.a_start : h.a_end].splitlines()]
    come = [line for h in loose for line in after[h.b_start : h.b_end].splitlines()]
    if not gone or sorted(gone) != sorted(come):
        return found
    return [replace(h, code=line_order.CODE) if h in loose else h for h in found]


def _whole_lines(text: str, start: int, end: int) -> bool:
    starts = start == 0 or text[start - 1] == "\n"
    return starts and (end in (start, len(text)) or text[end - 1] == "\n")


def _trimmed(
    code: str | None, before: str, after: str, a: tuple[int, int], b: tuple[int, int]
) -> Hunk:
    """The piece without its common ends, widened again to whole words."""
    text_a, text_b = before[slice(*a)], after[slice(*b)]
    head, tail = _common(text_a, text_b)
    changed = text_a[head : len(text_a) - tail], text_b[head : len(text_b) - tail]
    if any(side[:1].isalnum() for side in changed):
        # Backwards: a search for what ends there would begin anew at every character.
        word = _WORD.match(text_a[:head][::-1])
        head -= len(word.group()) if word else 0
    if any(side[-1:].isalnum() for side in changed):
        word = _WORD.match(text_a[len(text_a) - tail :])
        tail -= len(word.group()) if word else 0
    return Hunk(code, a[0] + head, a[1] - tail, b[0] + head, b[1] - tail)
