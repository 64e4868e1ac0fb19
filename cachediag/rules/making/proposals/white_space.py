"""E01: white space that comes and goes is sent as it was sent first."""

from collections.abc import Iterator
from dataclasses import replace

from cachediag.rules.making.proposals.proposed import Material, Proposed
from cachediag.rules.making.proposals.texts import marked, proposed
from cachediag.rules.rule import Rule

__all__ = ["even_white_space"]

# A longer pattern says nothing to a reader.
_LONGEST = 2_000


def even_white_space(material: Material) -> Iterator[Proposed]:
    """Replace each piece by what it was first."""
    for found in material.found:
        for one in marked(found):
            if len(one.pattern) > _LONGEST:
                continue
            rule = Rule("keep-white-space", found.code, "replace", found.spot.protocol, "")
            effect = "The model is told the same, in the same white space each time."
            yield from proposed(found, replace(rule, value=one.values[0]), one, effect)
