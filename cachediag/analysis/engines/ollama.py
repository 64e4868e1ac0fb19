"""Ollama: the slot with the longest common prefix.

Source: `runner/ollamarunner/cache.go` (`LoadCacheSlot`, `findLongestCacheSlot`,
`findBestCacheSlot`) of ollama/ollama, read in the state of 2026. One slot unless
`OLLAMA_NUM_PARALLEL` says otherwise. Whatever else the chosen slot holds is dropped. Only with
`OLLAMA_MULTIUSER_CACHE` does a prompt that a slot does not fully begin take the least recently used
slot instead, with a copy of the prefix. At least one token is fed again; the last token generated
is not kept.
"""

from dataclasses import dataclass

from cachediag.analysis.engines.model import CacheRequest, Reason, Served
from cachediag.analysis.engines.prefix import Pending, at_least, evicted
from cachediag.tokens.sequence import TokenSequence

__all__ = ["Ollama"]


@dataclass(slots=True, eq=False)
class _Slot:
    tokens: TokenSequence | None = None
    length: int = 0
    lane: str = ""
    last_used: int = -1
    busy: bool = False

    def shared(self, tokens: TokenSequence) -> int:
        return 0 if self.tokens is None else min(self.tokens.shared(tokens), self.length)


class Ollama:
    """The slots of Ollama's runner.

    Args:
        slots: `OLLAMA_NUM_PARALLEL`.
        multiuser: 1 where `OLLAMA_MULTIUSER_CACHE` is set.
    """

    name = "ollama"

    def __init__(self, *, slots: int = 1, multiuser: int = 0) -> None:
        self._slots = [_Slot() for _ in range(at_least(1, "slots", slots))]
        self._multiuser = bool(multiuser)
        self._pending = Pending()
        self._taken: dict[str, str] = {}
        self._clock = 0

    def serve(self, request: CacheRequest) -> Served:
        """Reuse what the chosen slot shares with the prompt, and leave prompt and reply in it."""
        self._pending.run(request.started)
        if all(slot.busy for slot in self._slots):
            self._pending.wait()
        slot, shared = self._choose(request.tokens)
        reused = max(0, min(shared, len(request.tokens) - 1))
        gone: tuple[str, ...] = ()
        if slot.tokens is not None and slot.lane != request.lane and shared < slot.length:
            self._taken[slot.lane] = request.lane
            gone = (slot.lane,)
        self._clock += 1
        slot.tokens, slot.length, slot.lane = request.tokens, len(request.tokens), request.lane
        slot.last_used, slot.busy = self._clock, True
        self._pending.add(request.ended, lambda: self._release(slot, request))
        return Served(
            reused, len(request.tokens) - reused, reason=self._reason(request, reused), evicted=gone
        )

    def _choose(self, tokens: TokenSequence) -> tuple[_Slot, int]:
        idle = [slot for slot in self._slots if not slot.busy]
        if not self._multiuser:
            slot = max(idle, key=lambda slot: slot.shared(tokens))
            return slot, slot.shared(tokens)
        longest = max(self._slots, key=lambda slot: slot.shared(tokens))
        shared = longest.shared(tokens)
        if shared == longest.length and not longest.busy:
            return longest, shared
        return min(idle, key=lambda slot: slot.last_used), shared

    def _release(self, slot: _Slot, request: CacheRequest) -> None:
        slot.busy = False
        if request.reply is not None:
            slot.tokens = request.reply
            slot.length = max(len(request.tokens), len(request.reply) - 1)

    def _reason(self, request: CacheRequest, reused: int) -> Reason | None:
        # The last token of a reply is never kept, so one token less is no loss.
        if reused >= min(request.shared, len(request.tokens)) - 1:
            return None
        taker = self._taken.get(request.lane)
        if taker is None:
            return Reason("P01", "the slot chosen holds less of the prompt than another held")
        return evicted(taker, request.lane)
