"""`sort`: tools by name, keys of an object, lines or items of a text, in one order always."""

import re
from collections.abc import Iterator, Sequence

from cachediag.protocol import jsontext
from cachediag.protocol.jsontext import Span
from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.made import Made, Sent
from cachediag.rules.engine.places import Place, items, name_of
from cachediag.rules.engine.texts import is_text, text_at, text_pieces
from cachediag.rules.pattern import compiled
from cachediag.rules.rule import Rule

__all__ = ["sort_values"]

# What marks an item of a numbered list belongs to its place, not to the item.
_LINE = re.compile(r"(?:[ \t]*\d+[.)][ \t]+)?(?P<item>[^\n]+)")
# No white space is tried to begin with: a long run of it would be tried again at each place.
_ITEM = re.compile(r"(?P<item>[^,;|\s](?:[^,;|\n]*[^,;|\s])?)")
_BETWEEN = re.compile(rb"[ \t\r\n,]*")

_Slot = tuple[str, Span]


def sort_values(sent: Sent, rule: Rule, place: Place) -> Iterator[Made]:
    """Bring what stands at a place into one order; nothing where it is in that order."""
    if rule.by == "name":
        yield from _by_name(sent.body, place)
    elif rule.by == "keys":
        yield from _by_keys(sent.body, place)
    else:
        yield from _in_text(sent.body, rule.pattern, place, _LINE if rule.by == "lines" else _ITEM)


def _by_name(body: bytes, place: Place) -> Iterator[Made]:
    if body[place.span.start : place.span.start + 1] != b"[":
        return
    tools = [Place("", span, place, index) for index, span in enumerate(items(body, place))]
    yield from _made([(name_of(body, tool), tool.span) for tool in tools])


def _by_keys(body: bytes, place: Place) -> Iterator[Made]:
    opening = body[place.span.start : place.span.start + 1]
    inner: list[Span] = []
    if opening == b"{":
        members = list(jsontext.members(body, place.span))
        inner = [span for _, span in members]
        yield from _made(_member_slots(body, place.span, members))
    elif opening == b"[":
        inner = list(jsontext.items(body, place.span))
    for span in inner:
        yield from _by_keys(body, Place("", span))


def _member_slots(body: bytes, span: Span, members: Sequence[_Slot]) -> list[_Slot]:
    """Each member from its key on."""
    slots, behind = [], span.start + 1
    for name, value in members:
        between = _BETWEEN.match(body, behind)
        slots.append((name, Span(between.end() if between else behind, value.end)))
        behind = value.end
    return slots


def _in_text(
    body: bytes, pattern: str | None, place: Place, item: re.Pattern[str]
) -> Iterator[Made]:
    if not is_text(body, place):
        return
    text = text_at(body, place)
    whole, groups = [(0, len(text))], list[list[tuple[int, int]]]()
    for start, end in compiled(pattern).pieces(text) if pattern else whole:
        groups.append([match.span("item") for match in item.finditer(text, start, end)])
    places = text_pieces(body, place, [each for group in groups for each in group])
    for group in groups:
        yield from _made([(text[a:b], at) for (a, b), at in zip(group, places, strict=False)])


def _made(slots: Sequence[_Slot]) -> Iterator[Made]:
    """The change that puts values in the order of their names; equal names keep theirs."""
    names = [name for name, _ in slots]
    order = sorted(range(len(slots)), key=lambda number: names[number])
    edits = tuple(
        Edit(*slots[place][1], (slots[taken][1],), is_slot=True)
        for place, taken in enumerate(order)
        if place != taken
    )
    if edits:
        after = ", ".join(names[number] for number in order)
        size = sum(edit.end - edit.start for edit in edits)
        yield Made(edits, ", ".join(names), after, size)
