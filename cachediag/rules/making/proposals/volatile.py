"""V02 to V04: dates, identifiers, counters.

What the model may need to know, a date or a count, is told at the end instead, by the whole
sentence. An identifier that nobody reads stays what it was, and so does a date in a tool's
definition, which has no other place.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from cachediag.rules.making.family import At, Family
from cachediag.rules.making.proposals.proposed import Material, Proposed
from cachediag.rules.making.proposals.texts import Marked, block_path, marked, proposed
from cachediag.rules.making.values import Found
from cachediag.rules.rule import Rule

__all__ = ["moved_counters", "moved_dates", "pinned_identifiers"]

_SENTENCE = re.compile(r"[.!?][\"')]*(?=[ \t])")
_PATH_BEFORE, _PATH_BEHIND = re.compile(r"/[\w.-]*\Z"), re.compile(r"[\w.-]*/")


def moved_dates(material: Material) -> Iterator[Proposed]:
    """V02: told at the end."""
    for found in material.found:
        yield from _told_at_the_end(found, "date", "The date or time")


def moved_counters(material: Material) -> Iterator[Proposed]:
    """V04: told at the end."""
    for found in material.found:
        yield from _told_at_the_end(found, "counter", "The count")


def _told_at_the_end(found: Found, name: str, what: str) -> Iterator[Proposed]:
    if found.spot.is_tool:
        yield from _pinned(found, name, what)
        return
    for one in marked(found, _sentence):
        rule = Rule(f"move-{name}", found.code, "move-to-end", found.spot.protocol, found.spot.path)
        effect = f"{what} is told at the end of the newest message instead."
        for each in proposed(found, rule, one, effect):
            # Of a block that is all of it nothing may be left, for some servers refuse empty ones.
            path = block_path(found.spot.path) if one.is_whole else found.spot.path
            yield replace(each, rule=replace(each.rule, path=path or found.spot.path))


def pinned_identifiers(material: Material) -> Iterator[Proposed]:
    """V03: what it was first."""
    for found in material.found:
        yield from _pinned(found, "identifier", "The identifier")


def _pinned(found: Found, name: str, what: str) -> Iterator[Proposed]:
    for one in marked(found):
        caution = (
            "It is part of a path or an address: see that the first one can still be used"
            if name == "identifier" and _in_path(one)
            else ""
        )
        rule = Rule(f"pin-{name}", found.code, "pin", found.spot.protocol, found.spot.path)
        effect = f"{what} stays what it was when the conversation began."
        yield from proposed(found, rule, one, effect, caution)


def _in_path(one: Marked) -> bool:
    return any(
        _PATH_BEFORE.search(piece.family.literals[piece.start.literal][: piece.start.offset])
        or _PATH_BEHIND.match(piece.family.literals[piece.end.literal], piece.end.offset)
        for piece in one.pieces
    )


def _sentence(family: Family, slot: int) -> tuple[At, At]:
    """The sentence that a slot stands in, or its line with the line's end where it has one only."""
    start, end = family.before(slot), family.behind(slot)
    left, right = family.line_start(start), family.line_end(end)
    opened = _sentence_start(family, left, start)
    closed = _sentence_end(family, end, right)
    if opened is None and closed is None:
        return left, _behind_line(family, right)
    return opened or left, closed or right


def _sentence_start(family: Family, left: At, start: At) -> At | None:
    """Behind the end of the sentence before, in the same line."""
    low = left.offset if left.literal == start.literal else 0
    ends = list(_SENTENCE.finditer(family.literals[start.literal], low, start.offset + 1))
    return At(start.literal, ends[-1].end()) if ends else None


def _sentence_end(family: Family, end: At, right: At) -> At | None:
    """Behind the end of the sentence, where another one follows in the line."""
    text = family.literals[end.literal]
    high = right.offset if right.literal == end.literal else len(text)
    found = _SENTENCE.search(text, end.offset, high)
    return At(end.literal, found.end()) if found else None


def _behind_line(family: Family, right: At) -> At:
    is_end = right.offset == len(family.literals[right.literal])
    return right if is_end else At(right.literal, right.offset + 1)
