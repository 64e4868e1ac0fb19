"""Which requests belong together: the main loop, its sub-agents, the auxiliary requests.

Claude Code's own headers are used where they are sent. Most recordings have none, and requests of
several senders interleave within milliseconds; then tools, system prompt and conversation tell.
"""

from dataclasses import dataclass
from typing import Literal

from cachediag.analysis.edited import is_edit
from cachediag.analysis.prefixes import Prefixes
from cachediag.analysis.traits import Traits
from cachediag.heads import common_head

__all__ = ["Kind", "Lanes", "Place"]

Kind = Literal["turn", "subagent", "auxiliary", "compaction", "count"]
_CLASSES: dict[str, Kind] = {
    "main": "turn",
    "subagent": "subagent",
    "auxiliary": "auxiliary",
    "compaction": "compaction",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request stands in its session."""

    lane: str
    kind: Kind
    parent: int | None
    """The earlier request of any lane with the longest shared prefix; None where nothing is
    shared with any, and the lane is new."""
    latest: int | None
    """The lane's latest request before this one."""
    is_first: bool
    """The first of its conversation."""


@dataclass(slots=True)
class _Lane:
    name: str
    kind: Kind
    latest: int
    first: Traits
    traits: Traits
    """Of its latest request."""


class Lanes:
    """Places requests one by one, as they were recorded.

    The cost of a request grows with its parts and with the number of lanes, not with the number
    of requests before it.
    """

    def __init__(self) -> None:
        self._lanes: list[_Lane] = []
        self._prefixes = Prefixes()

    def add(self, index: int, traits: Traits) -> Place:
        """Place the next request.

        Args:
            index: its number in the session.
            traits: what tells its sender.
        """
        if traits.is_count:
            return Place("count", "count", None, None, is_first=False)
        lane, goes_on = self._find(traits)
        latest = lane.latest if lane else None
        parent = self._parent(traits, lane)
        if parent is None and (whole := self._without_tools(traits)):
            parent, goes_on = whole.latest, True
        kind = self._kind(traits, lane)
        if lane is None:
            lane = _Lane(self._name(kind, traits), kind, index, traits, traits)
            self._lanes.append(lane)
        lane.latest, lane.traits = index, traits
        self._prefixes.add(index, traits.digests)
        return Place(lane.name, kind, parent, latest, is_first=not goes_on)

    def _find(self, traits: Traits) -> tuple[_Lane | None, bool]:
        """The lane of a request, and whether it goes on with the lane's conversation."""
        candidates = [lane for lane in reversed(self._lanes) if _same_sender(traits, lane.traits)]
        for lane in candidates:
            if traits.continues(lane.first, lane.traits):
                return lane, True
        if traits.opens_with_summary:
            found = (lane for lane in candidates if not lane.traits.is_single_turn)
        elif not traits.is_single_turn:
            found = (lane for lane in candidates if is_edit(traits, lane.first, lane.traits))
        elif not traits.tools:
            # Auxiliary requests ask one thing each: the sender is all they have in common.
            alone = (lane for lane in candidates if lane.kind == "auxiliary")
            return next(alone, None), False
        else:
            return None, False
        edited = next(found, None)
        return edited, edited is not None

    def _without_tools(self, traits: Traits) -> _Lane | None:
        """The lane that a request goes on from in the same words, but for its tools."""
        if traits.tools or traits.is_single_turn:
            return None
        gone = (lane for lane in reversed(self._lanes) if traits.lost_tools_of(lane.traits))
        return next(gone, None)

    def _parent(self, traits: Traits, lane: _Lane | None) -> int | None:
        found = self._prefixes.longest(traits.digests)
        # Of those that share as much, the one that this request appends to, then the lane's own.
        if lane is not None and not found.is_whole:
            own = common_head(traits.digests, lane.traits.digests)
            if own >= found.shared:
                return lane.latest
        return found.request

    def _kind(self, traits: Traits, lane: _Lane | None) -> Kind:
        if traits.request_class in _CLASSES:
            return _CLASSES[traits.request_class]
        if lane is not None:
            return lane.kind
        if traits.is_subagent:
            return "subagent"
        main = next((lane for lane in self._lanes if lane.kind == "turn"), None)
        if main is None or not main.traits.tools:
            titled = traits.is_title and not traits.tools
            return "auxiliary" if titled or (not traits.tools and self._has_tools()) else "turn"
        # A title is asked for with the same first message, before the model has spoken.
        gone_on = traits.goes_on_from(main.traits) and not traits.is_single_turn
        if gone_on and (traits.asks_for_summary or not traits.tools):
            return "compaction"
        if not traits.tools:
            return "auxiliary"
        if main.traits.same_agent(traits):
            return "turn"
        return "subagent" if gone_on or traits.tools < main.traits.tools else "turn"

    def _has_tools(self) -> bool:
        return any(lane.traits.tools for lane in self._lanes)

    def _name(self, kind: Kind, traits: Traits) -> str:
        base = {
            "turn": "main",
            "subagent": "agent",
            "auxiliary": "title" if traits.is_title else "aux",
            "compaction": "compaction",
            "count": "count",
        }[kind]
        taken = {lane.name for lane in self._lanes}
        number, name = 1, base
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        return name


def _same_sender(a: Traits, b: Traits) -> bool:
    if a.agent or b.agent:
        return a.agent == b.agent
    return a.same_agent(b)
