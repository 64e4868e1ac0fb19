"""S07: system messages within the talk that the backend would move to the front."""

from collections.abc import Iterator

from cachediag.rules.making.proposals.proposed import Material, Proposed, evidence
from cachediag.rules.rule import Rule

__all__ = ["inline_messages"]


def inline_messages(material: Material) -> Iterator[Proposed]:
    """Leave them where they are, said by the user."""
    for protocol in dict.fromkeys(found.spot.protocol for found in material.found):
        own = tuple(found for found in material.found if found.spot.protocol == protocol)
        yield Proposed(
            rule=Rule(
                "keep-inline-system",
                "S07",
                "keep-inline",
                protocol,
                "messages[*]",
                evidence=evidence(own),
            ),
            effect="The model is told the same in the same place, by the user instead of the "
            "system.",
            answers=own,
        )
