"""vllm-mlx's SimpleEngine: a cache of system prefixes, with conditions.

Source: `engine/simple.py`, `engine/chat_template_safety.py` and `server.py` of the releases 0.4.1,
0.5.0 and 0.6.0 (PyPI, read November 2026):

- 0.2.0 to 0.3.0 keep nothing in the text path.
- 0.4.0 and 0.4.1 take as prefix all that stands before the last message's content, where that
  message is a user's, and key the slot by it. A conversation that grows has a new key every turn.
- From 0.5.0 the prefix is what the template makes of the system messages and the tools, up to the
  place where a first user message would begin. A hit reuses exactly this prefix.

Both keep up to four prefixes (`VLLM_MLX_SYSTEM_KV_SLOTS`), the least recently used dropped first.
A request is looked up only on the streaming path, which is also taken for requests with tools, and
only if it asks for nothing that the cached path cannot do. A second request while one runs is
refused (`EngineBusy`, HTTP 500) unless `VLLM_MLX_SIMPLE_ENGINE_LOCK_ADMISSION=wait` is set.
"""

import json

from cachediag.analysis.engines.model import CacheModel, CacheRequest, Reason, Served
from cachediag.analysis.engines.no_cache import NoCache
from cachediag.analysis.engines.prefix import prefix_key
from cachediag.analysis.engines.slots import KeyedSlots, explained
from cachediag.errors import UsageError
from cachediag.model import Json

__all__ = ["NEWEST", "VllmMlx", "vllm_mlx"]

NEWEST = "0.6.0"

# Beside these, which `/v1/chat/completions` hands on to the engine, the other protocols hand on no
# more than temperature and top_p.
_NEUTRAL: dict[str, tuple[Json, ...]] = {
    "stop": (None, "", []),
    "logit_bias": (None, {}),
    "top_k": (None, 0),
    "min_p": (None, 0),
    "presence_penalty": (None, 0),
    "repetition_penalty": (None, 0, 1),
    "specprefill": (None,),
    "thinking_token_budget": (None, 0),
}
_FORMATS = (b'"json_object"', b'"json_schema"')


def vllm_mlx(version: str | None = None, *, slots: int = 4, wait: int = 0) -> CacheModel:
    """The cache of a release.

    Args:
        version: the release; by default the newest that is known.
        slots: prefixes kept, `VLLM_MLX_SYSTEM_KV_SLOTS`.
        wait: 1 where a second request waits instead of being refused.

    Raises:
        UsageError: it is no version.
    """
    version = version or NEWEST
    parts = version.split(".")
    if not all(part.isdecimal() for part in parts):
        raise UsageError(
            f"no version of vllm-mlx is called {version!r}", remedy=f"Give one such as {NEWEST}."
        )
    release = tuple(int(part) for part in parts)
    if release < (0, 4):
        return NoCache(f"vllm-mlx@{version}")
    return VllmMlx(version, slots=slots, history=release < (0, 5), wait=bool(wait))


class VllmMlx:
    """The slots of 0.4.0 and later."""

    def __init__(self, version: str, *, slots: int, history: bool, wait: bool) -> None:
        self.name = f"vllm-mlx@{version}"
        self._slots = KeyedSlots(slots)
        self._history = history
        self._wait = wait
        self._histories: dict[str, int] = {}
        self._busy_until: float | None = None

    def serve(self, request: CacheRequest) -> Served:
        """Reuse the request's prefix where a slot holds it and the request may be looked up."""
        refused = self._refused(request) or _ineligible(request)
        if refused is not None:
            return Served(0, reason=Reason("P04", refused))
        if not request.system_length:
            return Served(0, reason=Reason("P04", "no system prefix at the head of the prompt"))
        if self._history:
            return self._by_history(request)
        if request.system_length >= len(request.tokens):
            return Served(0, reason=Reason("P04", "the prompt is no longer than its prefix"))
        served = self._slots.use(request.system_key, request.system_length, request.lane)
        return explained(served, request)

    def _by_history(self, request: CacheRequest) -> Served:
        length = request.history_length
        if not 0 < length < len(request.tokens):
            return Served(0, reason=Reason("P04", "the last message is not the user's"))
        served = self._slots.use(prefix_key(request.tokens, length), length, request.lane)
        before = self._histories.get(request.lane)
        self._histories[request.lane] = length
        if served.reused or before is None or request.shared < before:
            return served
        reason = Reason("P06", "the key takes in the whole history, which has grown")
        return Served(0, served.created, reason=reason, evicted=served.evicted)

    def _refused(self, request: CacheRequest) -> str | None:
        if self._wait or request.started is None or request.ended is None:
            return None
        if self._busy_until is not None and request.started < self._busy_until:
            return "refused: another request was being served"
        self._busy_until = request.ended
        return None


def _ineligible(request: CacheRequest) -> str | None:
    """Why a request goes past the cache; None where it does not."""
    params = request.params
    tools = request.has_tools and (
        request.endpoint == "responses" or b'"none"' not in params.get("tool_choice", b"")
    )
    if not (request.stream or tools):
        return "neither streamed nor with tools"
    if request.endpoint == "responses":
        return None
    if any(name in params.get("response_format", b"") for name in _FORMATS):
        return "response_format is set"
    if request.endpoint == "chat":
        for name, neutral in _NEUTRAL.items():
            if name in params and json.loads(params[name]) not in neutral:
                return f"{name} is set"
    return None
