"""The table of proposals: one file a kind, each from the causes of some codes to rules."""

from collections.abc import Callable, Iterator

from cachediag.rules.making.proposals.billing_header import still_headers
from cachediag.rules.making.proposals.inline_system import inline_messages
from cachediag.rules.making.proposals.order import sorted_keys, sorted_lines, sorted_tools
from cachediag.rules.making.proposals.proposed import Material, Proposed
from cachediag.rules.making.proposals.snapshot import pinned_snapshots
from cachediag.rules.making.proposals.unknown import unknown_texts
from cachediag.rules.making.proposals.volatile import (
    moved_counters,
    moved_dates,
    pinned_identifiers,
)
from cachediag.rules.making.proposals.white_space import even_white_space

__all__ = ["PROPOSALS"]

PROPOSALS: dict[str, Callable[[Material], Iterator[Proposed]]] = {
    "V01": still_headers,
    "V02": moved_dates,
    "V04": moved_counters,
    "V03": pinned_identifiers,
    "V05": pinned_snapshots,
    "O01": sorted_tools,
    "O02": sorted_keys,
    "O03": sorted_lines,
    "E01": even_white_space,
    "S07": inline_messages,
    "V06": unknown_texts,
}
"""By the code of the findings; where two would change the same piece, the first one stands."""
