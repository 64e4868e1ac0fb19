"""`move-to-end`: what changes goes behind the prefix, to the end of the newest message."""

from collections.abc import Iterator

from cachediag.protocol.jsontext import Span
from cachediag.protocol.literal import byte_offset
from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.made import Made, Sent
from cachediag.rules.engine.places import Place, member
from cachediag.rules.engine.tail import has_tail
from cachediag.rules.engine.texts import is_text, pieces, text_at
from cachediag.rules.pattern import compiled
from cachediag.rules.rule import Rule

__all__ = ["move_to_end"]


def move_to_end(sent: Sent, rule: Rule, place: Place) -> Iterator[Made]:
    """Take each piece that the pattern marks, or the whole block, to the end.

    A block goes where there is no pattern, and where its whole text matches: of a text that is
    all of its block a piece would leave an empty block, which some servers refuse.
    """
    if not has_tail(sent.body, sent.protocol):
        return
    if rule.pattern is None or not is_text(sent.body, place):
        yield from _block(sent.body, rule, place)
        return
    for piece, at in pieces(sent.body, place, rule.pattern):
        if piece.strip("\n"):
            inside = _without_line_ends(sent.body, piece, at)
            yield Made((Edit(*at),), piece, piece, at.end - at.start, moved=inside)


def _block(body: bytes, rule: Rule, place: Place) -> Iterator[Made]:
    inside = place if is_text(body, place) else member(body, place, "text")
    if inside is None or not is_text(body, inside):
        return
    text = text_at(body, inside)
    if rule.pattern is not None and not compiled(rule.pattern).matches_whole(text):
        return
    start, end = place.span
    moved = Span(inside.span.start + 1, inside.span.end - 1)
    yield Made((Edit(start, end),), text, text, end - start, dropped=place.span, moved=moved)


def _without_line_ends(body: bytes, piece: str, at: Span) -> Span:
    inside = body[at.start : at.end]
    before = len(piece) - len(piece.lstrip("\n"))
    first, last = byte_offset(inside, before), byte_offset(inside, len(piece.rstrip("\n")))
    return Span(at.start + first, at.start + last)
