"""The table of proposals: one file a kind, each from the causes of some codes to rules."""

from collections.abc import Callable, Iterator

from cachediag.rules.proposals import (
    billing_header,
    inline_system,
    order,
    snapshot,
    unknown,
    volatile,
    white_space,
)
from cachediag.rules.proposals.proposed import Material, Proposed

__all__ = ["PROPOSALS"]

PROPOSALS: dict[str, Callable[[Material], Iterator[Proposed]]] = {
    "V01": billing_header.propose,
    "V02": volatile.dates,
    "V04": volatile.counters,
    "V03": volatile.identifiers,
    "V05": snapshot.propose,
    "O01": order.tools,
    "O02": order.keys,
    "O03": order.lines,
    "E01": white_space.propose,
    "S07": inline_system.propose,
    "V06": unknown.propose,
}
"""By the code of the findings; where two would change the same piece, the first one stands."""
