"""mlx-lm's server: the ten newest whole prompts, found as a trie, trimmed where they can be.

Source: `models/cache.py` (`PromptTrie`, `LRUPromptCache`), `server.py` (`_tokenize`, `_generate`)
and `generate.py` (`insert_segments`) of mlx-lm 0.31.3 and 0.32.2 (PyPI, read November 2026); the
two agree in all that is said here.

- A request reuses the longest prefix that it shares with a kept sequence, its last token excepted,
  which is fed again: an identical prompt of n tokens has n - 1 cached. Sequences of a cache class
  that cannot be trimmed (sliding windows, recurrent states) are reused only whole.
- While a prompt is prefilled, what stands at the end of its system text and one token before its
  end is kept; when the reply is done, the prompt and all generated tokens, the last included.
  Keeping a sequence drops the kept sequences that it begins with, where the class can be trimmed.
- Looking up does not count as use. Of more than ten, replies go first, then prompts, then system
  texts, each oldest first, but never the fewer kind before the more numerous one.

LM Studio's engine keeps prompts in the same trie, but only whole ones (mlx-engine,
`model_kit/batched_model_kit.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

from cachediag.analysis.engines.model import CacheRequest, Reason, Served
from cachediag.analysis.engines.prefix import Pending, at_least, evicted
from cachediag.tokens.sequence import TokenSequence

__all__ = ["MlxLm"]

_Kind = Literal["assistant", "user", "system"]
_ORDER: tuple[_Kind, ...] = ("assistant", "user", "system")


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """The first `length` tokens of a sequence."""

    tokens: TokenSequence
    length: int
    lane: str
    prompt: TokenSequence
    """The prompt of the request, which the sequence is part of or begins with."""


class MlxLm:
    """The prompt cache of `mlx_lm.server`.

    Args:
        slots: sequences kept, `--prompt-cache-size`.
        trim: 0 for a model whose cache class cannot be trimmed.
    """

    def __init__(
        self, *, slots: int = 10, trim: int = 1, name: str = "mlx-lm", segments: bool = True
    ) -> None:
        self.name = name
        self._limit = at_least(1, "slots", slots)
        self._trim = bool(trim)
        self._segments = segments
        self._kept: dict[_Kind, list[_Kept]] = {kind: [] for kind in _ORDER}
        self._pending = Pending()
        self._taken: dict[str, str] = {}
        self._gone: list[str] = []

    def serve(self, request: CacheRequest) -> Served:
        """Reuse the longest kept prefix; keep the prompt's segments and, at its end, the whole."""
        self._gone = []
        self._pending.run(request.started)
        tokens = request.tokens
        shared = {kept: kept.tokens.shared(tokens) for kind in _ORDER for kept in self._kept[kind]}
        reused, whole = self._longest(shared, len(tokens) - 1)
        for end, kind in self._ends(request, reused) if self._segments else ():
            kept = _Kept(tokens, end, request.lane, tokens)
            self._pending.add(request.first_byte, partial(self._keep, kept, kind, shared))
        full = request.reply if request.reply is not None else tokens
        done = _Kept(full, len(full), request.lane, tokens)
        self._pending.add(request.ended, partial(self._keep, done, "assistant", shared))
        return Served(
            reused,
            created=len(tokens) - reused,
            reason=self._reason(request, reused, whole),
            evicted=tuple(self._gone),
        )

    def _longest(self, shared: dict[_Kept, int], last: int) -> tuple[int, int]:
        """Tokens reused, and tokens shared with any kept sequence, the last of the prompt not."""
        reused = whole = 0
        for kept, head in shared.items():
            common = min(head, kept.length, last)
            whole = max(whole, common)
            # A kept sequence of one token is never found whole.
            if self._trim or common == kept.length > 1:
                reused = max(reused, common)
        return max(0, reused), whole

    def _ends(self, request: CacheRequest, reused: int) -> Iterator[tuple[int, _Kind]]:
        """Where the prefill of the rest stops for the cache to be kept, and as what."""
        length = len(request.tokens)
        if "seed" in request.params and request.params["seed"] != b"null":
            return
        # It compares the prompt with its system text token by token, and keeps what is the same.
        system = request.system_shared or request.system_length
        system = system if system < length else 0
        ends: list[tuple[int, _Kind]] = [(length, "assistant")]
        if request.endpoint == "chat" and request.history_length:
            body = length - request.tail_length
            ends = [(system, "system")] if system else []
            if system < body:
                ends.append((body, "user"))
            if body < length:
                ends.append((length, "assistant"))
        start = reused
        for end, kind in ends:
            # The very last token is fed on its own, to generate from.
            stop = end if end < length else length - 1
            if stop > start:
                yield stop, kind
                start = stop

    def _keep(self, new: _Kept, kind: _Kind, shared: dict[_Kept, int]) -> None:
        # Of a class that can be trimmed, what the new sequence starts with only takes up space.
        for kept in self._kept.values():
            kept[:] = [
                old
                for old in kept
                if not (self._trim or old.length == new.length) or not _begins(old, new, shared)
            ]
        self._kept[kind].append(new)
        if sum(map(len, self._kept.values())) > self._limit:
            lost = self._oldest()
            self._taken[lost.lane] = new.lane
            self._gone.append(lost.lane)

    def _oldest(self) -> _Kept:
        for kind, other in pairwise(_ORDER):
            if self._kept[kind] and len(self._kept[kind]) >= len(self._kept[other]):
                return self._kept[kind].pop(0)
        return self._kept["system"].pop(0)

    def _reason(self, request: CacheRequest, reused: int, whole: int) -> Reason | None:
        if reused < whole:
            return Reason("P05", "the kept prompts go on differently and cannot be trimmed")
        if reused >= min(request.shared, len(request.tokens) - 1):
            return None
        taker = self._taken.get(request.lane)
        if taker is None:
            return Reason("P04", "what it shares more of was still being served or never kept")
        return evicted(taker, request.lane)


def _begins(old: _Kept, new: _Kept, shared: dict[_Kept, int]) -> bool:
    """Whether a sequence starts with a kept one, by what that shares with the request's prompt."""
    if old.length > new.length:
        return False
    if old.prompt is new.prompt:
        # Both belong to one request.
        return old.tokens is new.tokens or old.length <= len(new.prompt)
    common = shared.get(old)
    if common is None or common == len(new.prompt):
        common = old.tokens.shared(new.tokens)
    return common >= old.length
