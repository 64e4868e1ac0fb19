"""Texts in a body: what they say, and where a piece of one stands in its bytes."""

import json
from collections.abc import Iterator, Sequence
from itertools import chain

from cachediag.protocol import jsontext
from cachediag.protocol.jsontext import Span
from cachediag.protocol.literal import byte_offsets
from cachediag.rules.engine.places import Place, member
from cachediag.rules.pattern import compiled

__all__ = ["block_text", "is_text", "pieces", "spelled", "text_at", "text_pieces"]


def is_text(body: bytes, place: Place) -> bool:
    """Whether a value is a string."""
    return body[place.span.start : place.span.start + 1] == b'"'


def text_at(body: bytes, place: Place) -> str:
    """The text of a string."""
    return str(jsontext.decode(body[place.span.start : place.span.end]))


def block_text(body: bytes, place: Place) -> str | None:
    """The text of a string, a text block, or a message of one string; None of anything else."""
    if is_text(body, place):
        return text_at(body, place)
    # A tool's result has a content too, and is nobody's text.
    name = "content" if member(body, place, "role") else "text"
    inside = member(body, place, name)
    return text_at(body, inside) if inside and is_text(body, inside) else None


def text_pieces(body: bytes, place: Place, found: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Where pieces of a text stand.

    Args:
        body: the whole body.
        place: a string.
        found: for each piece the characters of the text before it and before its end, in order and
            apart from one another.
    """
    first = place.span.start + 1
    inside = body[first : place.span.end - 1]
    offsets = byte_offsets(inside, chain.from_iterable(found))
    for start in offsets:
        yield Span(first + start, first + next(offsets))


def pieces(body: bytes, place: Place, pattern: str | None) -> Iterator[tuple[str, Span]]:
    """The pieces of a text that a pattern marks; the whole text where there is no pattern."""
    if not is_text(body, place):
        return
    text = text_at(body, place)
    if pattern is None:
        yield text, Span(place.span.start + 1, place.span.end - 1)
        return
    found = compiled(pattern).pieces(text)
    for (start, end), at in zip(found, text_pieces(body, place, found), strict=True):
        yield text[start:end], at


def spelled(text: str) -> bytes:
    """A text as it stands between the quotes of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
