"""V06: text that changes, and of which nothing tells whether the model needs it."""

from collections.abc import Iterator

from cachediag.rules.making.proposals.proposed import Material, Proposed
from cachediag.rules.making.proposals.texts import marked, proposed
from cachediag.rules.rule import Rule

__all__ = ["unknown_texts"]

_PINNED = "The text stays what it was when the conversation began."
_MOVED = "The text is told at the end of the newest message instead."
_CAUTION = "Nothing tells what the text is: enable the rule if the model can do with it so"


def unknown_texts(material: Material) -> Iterator[Proposed]:
    """Told at the end, or pinned in a tool's definition; for a person to decide."""
    for found in material.found:
        for one in marked(found):
            # A block that is left empty is refused by some servers.
            pins = found.spot.is_tool or found.spot.is_user_text or one.is_whole
            action, name = ("pin", "pin-text") if pins else ("move-to-end", "move-text")
            rule = Rule(name, found.code, action, found.spot.protocol, found.spot.path)
            yield from proposed(found, rule, one, _PINNED if pins else _MOVED, _CAUTION)
