"""Slots that each keep one prefix, and the caches that consist of nothing else.

Source: the proposal in vllm-mlx's pull request 523 (one slot, keyed by the hash of the rendered
system and tools), and its general form with several slots.
"""

from collections import OrderedDict
from collections.abc import Hashable

from cachediag.analysis.engines.model import CacheRequest, Reason, Served
from cachediag.analysis.engines.prefix import at_least, evicted

__all__ = ["KeyedSlots", "SystemSlots"]

_SYSTEM_ONLY = Reason(None, "the system prefix alone is kept, not the conversation")


class KeyedSlots:
    """Prefixes by their keys, the least recently used dropped first."""

    def __init__(self, slots: int) -> None:
        self._limit = at_least(1, "slots", slots)
        self._lanes: OrderedDict[Hashable, str] = OrderedDict()
        self._taken: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return len(self._lanes)

    def use(self, key: Hashable, length: int, lane: str) -> Served:
        """Look a prefix up, and keep it where it is new.

        Args:
            key: its key; equal keys, equal prefixes.
            length: its tokens.
            lane: whose request it is.
        """
        if key in self._lanes:
            self._lanes.move_to_end(key)
            self._lanes[key] = lane
            return Served(length)
        self._lanes[key] = lane
        gone = []
        while len(self._lanes) > self._limit:
            old, owner = self._lanes.popitem(last=False)
            self._taken[old] = lane
            gone.append(owner)
        taker = self._taken.pop(key, None)
        reason = evicted(taker, lane) if taker is not None else None
        return Served(0, created=length, reason=reason, evicted=tuple(gone))


class SystemSlots:
    """Keeps the prefix of system text and tools, and nothing of the conversation."""

    name = "system-slots"

    def __init__(self, *, slots: int = 1) -> None:
        self._slots = KeyedSlots(slots)

    def serve(self, request: CacheRequest) -> Served:
        """Reuse the system prefix where its slot still holds it."""
        if not 0 < request.system_length < len(request.tokens):
            return Served(0, reason=Reason("P04", "no system prefix at the head of the prompt"))
        served = self._slots.use(request.system_key, request.system_length, request.lane)
        return explained(served, request)


def explained(served: Served, request: CacheRequest) -> Served:
    """Say so where a system prefix is all that was reused of a longer shared prefix."""
    # The last token is fed again by every engine, so one token less is no loss.
    beyond = min(request.shared, len(request.tokens) - 1)
    if served.reason is None and served.reused and served.reused < beyond:
        return Served(served.reused, served.created, reason=_SYSTEM_ONLY, evicted=served.evicted)
    return served
