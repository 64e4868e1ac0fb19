"""V05: a snapshot of the environment stays what it was when the conversation began."""

import re
from collections.abc import Iterator

from cachediag.rules.making.proposals.proposed import Material, Piece, Proposed
from cachediag.rules.making.proposals.texts import marked, proposed
from cachediag.rules.rule import Rule

__all__ = ["pinned_snapshots"]

_NEEDED = re.compile(
    r"director(?:y|ies)|platform|\bos\b|version|shell|hostname|<cwd|<os", re.IGNORECASE
)


def pinned_snapshots(material: Material) -> Iterator[Proposed]:
    """Pin each section of the snapshot that changed.

    What the model needs to know as it is, such as the working directory, is left to a person.
    """
    for found in material.found:
        for one in marked(found):
            caution = (
                "The model acts on it: told the first one, it would work in another place"
                if any(_NEEDED.search(_line_before(piece)) for piece in one.pieces)
                else ""
            )
            rule = Rule("pin-snapshot", found.code, "pin", found.spot.protocol, found.spot.path)
            effect = "The snapshot stays what it was when the conversation began."
            yield from proposed(found, rule, one, effect, caution)


def _line_before(piece: Piece) -> str:
    """What stands in the piece's line before it."""
    return piece.family.literals[piece.start.literal][: piece.start.offset].rpartition("\n")[2]
