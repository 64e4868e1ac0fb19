"""`drop-block`: a block that matches wholly goes, and a comma with it."""

from collections.abc import Iterator

from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.made import Made, Sent
from cachediag.rules.engine.places import Place
from cachediag.rules.engine.texts import block_text
from cachediag.rules.pattern import compiled
from cachediag.rules.rule import Rule

__all__ = ["drop_block"]


def drop_block(sent: Sent, rule: Rule, place: Place) -> Iterator[Made]:
    """Drop a text block, a string that stands for one, or a message of one text.

    A string inside a message is not dropped: what has no content is no message.
    """
    if place.index is None and (place.parent is None or place.parent.path):
        return
    text = block_text(sent.body, place)
    if text is None or rule.pattern is None or not compiled(rule.pattern).matches_whole(text):
        return
    start, end = place.span
    yield Made((Edit(start, end),), text, "", end - start, dropped=place.span)
