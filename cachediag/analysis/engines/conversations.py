"""The prefix cache that `cachediag fix patch` gives vllm-mlx: conversations, by system prefix.

It is held against the patch itself by the live tests. How much memory a slot takes is not played.
"""

from dataclasses import dataclass, field

from cachediag.analysis.engines.model import CacheRequest, Reason, Served
from cachediag.analysis.engines.prefix import at_least, evicted
from cachediag.tokens.sequence import TokenSequence

__all__ = ["ConversationSlots"]

_MINIMUM = 32
"""Fewer tokens are not worth a slot, and are not reused."""

_BRANCHES = 8
"""Conversations that a slot holds besides its system prefix."""


@dataclass(slots=True, eq=False)
class _Kept:
    """The first `length` tokens of a prompt."""

    tokens: TokenSequence
    length: int
    used: int


@dataclass(slots=True, eq=False)
class _Slot:
    """A system prefix, and the conversations that grew out of it."""

    key: bytes
    lane: str
    used: int
    system: _Kept | None = None
    branches: list[_Kept] = field(default_factory=list)

    @property
    def kept(self) -> list[_Kept]:
        return [*([self.system] if self.system else []), *self.branches]


class ConversationSlots:
    """Keeps conversations, those of one system prefix in one slot; reuses the longest token prefix.

    A conversation takes the place of the one that it goes on from. Of more than eight in a slot the
    one goes that was not of use for longest, never the system prefix; of more system prefixes than
    there are slots, the least recently used with all its conversations. What a kept one holds
    beyond the common prefix is trimmed, so the cache class must be one that can be.
    """

    name = "conversation-slots"

    def __init__(self, *, slots: int = 4) -> None:
        self._limit = at_least(1, "slots", slots)
        self._slots: list[_Slot] = []
        self._clock = 0
        self._taken: dict[str, str] = {}

    def serve(self, request: CacheRequest) -> Served:
        """Reuse the longest prefix that any kept conversation shares, and keep this one."""
        tokens, last = request.tokens, len(request.tokens) - 1
        if last < _MINIMUM:
            return Served(0, reason=Reason(None, "the prompt is too short to be kept"))
        reused = self._found(tokens, last)
        system = request.system_length if _MINIMUM <= request.system_length <= last else 0
        key = request.system_key if system else b""
        gone: list[str] = []
        taker = self._taken.pop(request.lane, None)
        if system >= max(reused, 1) and (self._slot(key) or _EMPTY).system is None:
            self._open(key, request.lane, gone).system = _Kept(tokens, system, self._tick())
        if last > max(reused, system):
            slot = self._open(key, request.lane, gone)
            slot.branches = [
                kept for kept in slot.branches if _shared(kept, tokens, last) < kept.length
            ]
            if len(slot.branches) >= _BRANCHES:
                slot.branches.remove(min(slot.branches, key=lambda kept: kept.used))
            slot.branches.append(_Kept(tokens, last, self._tick()))
        reason = None
        # The last token of a prompt is not kept.
        if reused + 1 < min(request.shared, last):
            reason = Reason("P02", "of the conversations in its slot it was the oldest")
            if taker is not None:
                reason = evicted(taker, request.lane)
        return Served(reused, len(tokens) - reused, reason=reason, evicted=tuple(gone))

    def _found(self, tokens: TokenSequence, last: int) -> int:
        """How many tokens are reused; what they are taken from has been of use."""
        best, owner, reused = None, None, 0
        for slot in self._slots:
            for kept in slot.kept:
                shared = _shared(kept, tokens, last)
                if shared > reused:
                    best, owner, reused = kept, slot, shared
        if best is not None and owner is not None:
            owner.used = best.used = self._tick()
        return reused if reused >= _MINIMUM else 0

    def _slot(self, key: bytes) -> _Slot | None:
        return next((slot for slot in self._slots if slot.key == key), None)

    def _open(self, key: bytes, lane: str, gone: list[str]) -> _Slot:
        slot = self._slot(key)
        if slot is None:
            if len(self._slots) >= self._limit:
                lost = min(self._slots, key=lambda each: each.used)
                self._slots.remove(lost)
                self._taken[lost.lane] = lane
                gone.append(lost.lane)
            slot = _Slot(key, lane, 0)
            self._slots.append(slot)
        slot.used, slot.lane = self._tick(), lane
        return slot

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


_EMPTY = _Slot(b"", "", 0)


def _shared(kept: _Kept, tokens: TokenSequence, most: int) -> int:
    return min(kept.tokens.shared(tokens), kept.length, most)
