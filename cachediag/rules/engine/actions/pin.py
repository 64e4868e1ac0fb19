"""`pin`: a piece of a text stays what it was when its conversation began."""

from collections.abc import Iterator

from cachediag.protocol import jsontext
from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.made import Made, Sent
from cachediag.rules.engine.places import EVERY, Place, steps
from cachediag.rules.engine.texts import pieces
from cachediag.rules.rule import Rule

__all__ = ["pin_text"]


def pin_text(sent: Sent, rule: Rule, place: Place) -> Iterator[Made]:
    """Put back the first value of each piece that the pattern marks, as it was spelled."""
    # A tool that is named keeps its value wherever it stands.
    where = place.path if EVERY in steps(rule.path) else rule.path
    for number, (piece, at) in enumerate(pieces(sent.body, place, rule.pattern)):
        raw = sent.body[at.start : at.end]
        first = sent.first_value((rule.id, where, number), raw)
        if first != raw:
            was = str(jsontext.decode(b'"' + first + b'"'))
            yield Made((Edit(at.start, at.end, (first,)),), piece, was, len(raw))
