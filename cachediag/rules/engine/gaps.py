"""The commas that go with values that were dropped."""

from collections.abc import Iterator, Sequence

from cachediag.protocol.jsontext import Span
from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.places import Place, values

__all__ = ["gap_edits"]


def gap_edits(body: bytes, dropped: Sequence[Place]) -> tuple[Edit, ...]:
    """The changes that remove keys and commas of dropped values.

    Args:
        body: the whole body.
        dropped: items of arrays and members of objects.
    """
    outer = {place.parent.span: place.parent for place in dropped if place.parent}
    gone = {place.span for place in dropped}
    return tuple(
        edit
        for span, place in outer.items()
        for edit in _gaps(body, span, values(body, place), gone)
    )


def _gaps(body: bytes, outer: Span, held: Sequence[Span], dropped: set[Span]) -> Iterator[Edit]:
    kept = [number for number, span in enumerate(held) if span not in dropped]
    first_kept = kept[0] if kept else len(held)
    for number, span in enumerate(held):
        if span not in dropped:
            continue
        is_member = body[outer.start : outer.start + 1] == b"{"
        before = held[number - 1].end if number else outer.start + 1
        behind = held[number + 1].start if number + 1 < len(held) else outer.end - 1
        if number >= first_kept or is_member:
            yield Edit(before, span.start)
        if number < first_kept and number + 1 < len(held):
            yield Edit(span.end, _comma_end(body, span.end, behind) if is_member else behind)


def _comma_end(body: bytes, start: int, end: int) -> int:
    return body.index(b",", start, end) + 1
