"""`replace`: a piece of a text becomes a constant."""

from collections.abc import Iterator

from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.made import Made, Sent
from cachediag.rules.engine.places import Place
from cachediag.rules.engine.texts import pieces, spelled
from cachediag.rules.rule import Rule

__all__ = ["replace_text"]


def replace_text(sent: Sent, rule: Rule, place: Place) -> Iterator[Made]:
    """Replace each piece that the pattern marks by the rule's value."""
    value = rule.value or ""
    for piece, at in pieces(sent.body, place, rule.pattern):
        if piece != value:
            yield Made(
                (Edit(at.start, at.end, (spelled(value),)),), piece, value, at.end - at.start
            )
