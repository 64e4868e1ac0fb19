"""llama.cpp's server: slots chosen by similarity, and prompts put aside in host memory.

Source: `tools/server/server-context.cpp` (`get_available_slot`, `update_slots`) and
`server-task.cpp` (`server_prompt_cache`) of ggml-org/llama.cpp, read in the state of autumn 2026.

- A request gets the idle slot whose tokens cover the largest part of its prompt, if that is more
  than 0.10 of it (`--slot-prompt-similarity`); else the one least recently used.
- If less than half of a slot's tokens would stay, or no slot is similar, the slot's state is put
  aside in host memory (`--cache-ram`, 8,192 MiB), and a state that was put aside is taken back
  where it covers more of the prompt, keeps more of itself, and at least a quarter of itself.
- Without `--parallel` there are four slots over one buffer, and all idle slots are put aside and
  cleared as soon as a request starts. With it they are put aside too, but stay.
- A slot holds the prompt and the generated tokens but the last. At least one token is fed again.

Not modelled: sliding-window and recurrent models, which go back only to a checkpoint.
"""

from dataclasses import dataclass

from cachediag.analysis.engines.model import CacheRequest, Reason, Served
from cachediag.analysis.engines.prefix import Pending, at_least, evicted
from cachediag.tokens.sequence import TokenSequence

__all__ = ["LlamaCpp"]

_SIMILARITY = 0.10
_AUTOMATIC_SLOTS = 4


@dataclass(frozen=True, slots=True)
class _State:
    """The first `length` tokens of a sequence."""

    tokens: TokenSequence
    length: int
    lane: str

    def shared(self, other: "_State") -> int:
        return min(self.tokens.shared(other.tokens), self.length, other.length)


@dataclass(slots=True, eq=False)
class _Slot:
    state: _State | None = None
    last_used: int = -1
    busy: bool = False


class LlamaCpp:
    """The cache of `llama-server`.

    Args:
        slots: `--parallel`; None for the server's own choice, four slots over one buffer.
        host: tokens that may be put aside, 0 for none. 8,192 MiB hold 65,536 tokens of a model
            of 32 layers with 8 heads of 128 for keys and values, at 16 bits.
    """

    name = "llama.cpp"

    def __init__(self, *, slots: int | None = None, host: int = 65_536) -> None:
        self._unified = slots is None
        count = _AUTOMATIC_SLOTS if slots is None else at_least(1, "slots", slots)
        self._slots = [_Slot() for _ in range(count)]
        self._limit = host
        self._aside: list[_State] = []
        """Oldest first."""
        self._pending = Pending()
        self._taken: dict[str, str] = {}
        self._gone: list[str] = []
        self._clock = 0

    def serve(self, request: CacheRequest) -> Served:
        """Choose a slot, reuse what it holds of the prompt, and leave prompt and reply in it."""
        self._gone = []
        self._pending.run(request.started)
        prompt = _State(request.tokens, len(request.tokens), request.lane)
        if all(slot.busy for slot in self._slots):
            # The request waits until a slot is free.
            self._pending.wait()
        slot = self._choose(prompt)
        reused = 0
        if slot.state is not None and request.params.get("cache_prompt") != b"false":
            reused = max(0, min(slot.state.shared(prompt), prompt.length - 1))
            if reused < slot.state.length and not self._is_aside(slot.state):
                self._lose(slot.state, request.lane)
        slot.state, slot.busy = prompt, True
        self._put_idle_aside(request.lane)
        self._pending.add(request.ended, lambda: self._release(slot, request))
        return Served(
            reused,
            created=prompt.length - reused,
            reason=self._reason(request, reused),
            evicted=tuple(self._gone),
        )

    def _choose(self, prompt: _State) -> _Slot:
        idle = [slot for slot in self._slots if not slot.busy]
        best, shared = None, 0
        for slot in idle:
            if slot.state is not None:
                common = slot.state.shared(prompt)
                if common > shared and common > _SIMILARITY * prompt.length:
                    best, shared = slot, common
        if best is None or best.state is None:
            # Of slots never used the last one is taken.
            best = min(reversed(idle), key=lambda slot: slot.last_used)
        elif shared >= 0.5 * best.state.length:
            return best
        if self._limit:
            self._put_aside(best.state, prompt.lane)
            self._take_back(best, prompt)
        return best

    def _take_back(self, slot: _Slot, prompt: _State) -> None:
        """Give the slot the state put aside that is better in both respects, if there is one."""
        shared = slot.state.shared(prompt) if slot.state else 0
        keep = shared / slot.state.length if slot.state else -1.0
        found = None
        for state in self._aside:
            common = state.shared(prompt)
            fraction = common / state.length
            if fraction >= 0.25 and fraction > keep and common > shared:
                keep, shared, found = fraction, common, state
        if found is not None:
            self._aside.remove(found)
            slot.state = found

    def _put_aside(self, state: _State | None, lane: str) -> None:
        if state is None or state.length > self._limit:
            return
        if self._is_aside(state):
            return
        self._aside = [old for old in self._aside if old.shared(state) < old.length]
        self._aside.append(state)
        while sum(old.length for old in self._aside) > self._limit:
            self._lose(self._aside.pop(0), lane)

    def _is_aside(self, state: _State) -> bool:
        return any(old.shared(state) == state.length for old in self._aside)

    def _put_idle_aside(self, lane: str) -> None:
        if not self._limit:
            return
        for slot in self._slots:
            if not slot.busy:
                self._put_aside(slot.state, lane)
                if self._unified and slot.state is not None:
                    if not self._is_aside(slot.state):
                        self._lose(slot.state, lane)
                    slot.state = None

    def _release(self, slot: _Slot, request: CacheRequest) -> None:
        if request.reply is not None:
            # The last token sampled is never fed.
            length = max(len(request.tokens), len(request.reply) - 1)
            slot.state = _State(request.reply, length, request.lane)
        self._clock += 1
        slot.last_used, slot.busy = self._clock, False

    def _lose(self, state: _State, lane: str) -> None:
        if state.lane == lane:
            return
        self._taken[state.lane] = lane
        self._gone.append(state.lane)

    def _reason(self, request: CacheRequest, reused: int) -> Reason | None:
        if request.params.get("cache_prompt") == b"false":
            return Reason("P04", "cache_prompt is false")
        # The last token of a reply is never kept, so one token less is no loss.
        if reused >= min(request.shared, len(request.tokens)) - 1:
            return None
        taker = self._taken.get(request.lane)
        if taker is None:
            return Reason("P01", "the slot chosen holds less of the prompt than another held")
        return evicted(taker, request.lane)
