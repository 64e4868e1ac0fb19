"""Generation with the prefix cache: in the place of two functions of mlx-lm, for one model.

All releases of vllm-mlx import `mlx_lm.stream_generate` and `mlx_lm.generate` where they generate
text. There the prompt is whole, so upstream counts its tokens as ever, and holds its own locks
around the call. Whatever brings a cache of its own, or options not known here, goes on untouched.
"""

import importlib
import logging
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import mlx.core as mx
import mlx_lm
from mlx_lm.models.cache import make_prompt_cache

from . import states
from .prompts import encode, marks, takes_system_anywhere
from .registry import caches
from .requests import Use, current
from .store import Found, Store

__all__ = ["PrefixCache", "attach", "detach"]

logger = logging.getLogger(__name__)

MINIMUM = 32
"""Prefixes of fewer tokens are not worth a slot."""

_FAILURES = 3
"""It is switched off when so many requests in a row had to do without it."""

_KNOWN = {"max_tokens", "sampler", "logits_processors", "prefill_step_size"}
"""Options that change nothing of what a prefix's state is."""

_originals: dict[str, Any] = {}


class PrefixCache:
    """What is kept of the prompts of one model.

    Args:
        model: the model that mlx-lm calls.
        tokenizer: its tokenizer, with its chat template.
        slots: how many system prefixes are kept.
        scope: `system`, or `conversation` to keep what follows them too.
        max_bytes: how much memory all of it may take.
    """

    def __init__(
        self, model: Any, tokenizer: Any, *, slots: int, scope: str, max_bytes: int
    ) -> None:
        self.model = model
        self.scope = scope
        self.store = Store(slots, max_bytes)
        self.reason = states.refusal(model)
        self._trims = self.reason is None and states.trims(model)
        self._marks = marks(tokenizer)
        self.takes_system_anywhere = self.reason is None and takes_system_anywhere(tokenizer)
        if self.reason is None and scope == "system" and not self._marks.opening:
            self.reason = "the chat template does not show where a system prompt ends"
        self._failures = 0
        self.last: Use | None = None
        self.counters = dict.fromkeys(
            ("hits", "partial_hits", "misses", "stores", "refusals", "passed", "failures"), 0
        )
        self.counters |= {"reused_tokens": 0, "prefilled_tokens": 0}

    def stats(self) -> dict[str, Any]:
        """What `/v1/cache/stats` tells."""
        store, last = self.store, self.last
        return {
            "state": "off" if self.reason else "on",
            "reason": self.reason,
            "scope": self.scope,
            "capacity": store.capacity,
            "in_use": len(store.slots),
            "bytes": store.nbytes,
            "max_bytes": store.max_bytes,
            "counters": {**self.counters, "evictions": store.evictions},
            "slots": store.described(),
            "last": None if last is None else last.told(),
        }

    def clear(self) -> int:
        """Give up all that is kept; returns how many slots there were."""
        return self.store.clear()

    def stream(
        self, tokenizer: Any, prompt: Any, options: dict[str, Any]
    ) -> Generator[Any, None, None]:
        """Stand in for `mlx_lm.stream_generate`."""
        original = _originals["stream_generate"]
        if self.reason or not self._can_serve(options):
            self.counters["passed"] += 1
            yield from original(self.model, tokenizer, prompt, **options)
            return
        begun = False
        try:
            for response in self._stream(original, tokenizer, prompt, options):
                begun = True
                yield response
        except Exception:
            if begun:
                raise
            self._failed()
        else:
            return
        yield from original(self.model, tokenizer, prompt, **options)

    def _stream(
        self, original: Any, tokenizer: Any, prompt: Any, options: dict[str, Any]
    ) -> Iterator[Any]:
        started = time.perf_counter()
        tokens = encode(tokenizer, prompt)
        if len(tokens) <= MINIMUM:
            self.counters["passed"] += 1
            yield from original(self.model, tokenizer, prompt, **options)
            return
        use, cache = self._prepared(tokens, options)
        rest = list(tokens[use.processed :])
        with closing(
            original(self.model, tokenizer, rest, prompt_cache=cache, **options)
        ) as responses:
            for number, response in enumerate(responses):
                if number == 0:
                    self._succeeded(use, time.perf_counter() - started)
                response.prompt_tokens = use.prompt_tokens
                response.prompt_tps = use.prefilled_tokens / use.seconds
                yield response

    def _prepared(self, tokens: tuple[int, ...], options: dict[str, Any]) -> tuple[Use, list[Any]]:
        """Caches that hold a part of the prompt, at most all but its last token."""
        limit = len(tokens) - 1
        system = self._marks.system_end(tokens)
        if not MINIMUM <= system <= limit:
            system = 0
        key = tokens[:system]
        found = self.store.find(tokens, limit)
        if found is not None and (found.length < MINIMUM or self._is_out_of_scope(found)):
            found = None
        cache = self._restored(found) if found else make_prompt_cache(self.model)
        use = Use(len(tokens), found.length if found else 0, system)
        use.processed = use.reused_tokens
        if system > use.processed:
            self._prefill(tokens, use, system, cache, options)
        if system and use.processed == system and self.store.system(key) is None:
            state = states.take(cache, system, None)
            self._count(self.store.keep_system(key, state, state.settle))
        if self.scope == "conversation":
            end = self._history_end(tokens)
            if end > use.processed:
                self._prefill(tokens, use, end, cache, options)
            if use.processed == end and end > max(use.reused_tokens, system):
                kept = self.store.system(key)
                base: Any = kept.state if kept else None
                state = states.take(cache, end, base)
                self._count(self.store.keep_branch(key, tokens[:end], state, state.settle))
        return use, cache

    def _history_end(self, tokens: tuple[int, ...]) -> int:
        # What can be cut is kept whole. What cannot is of use only where the next prompt goes on,
        # and templates write the beginning of an old reply otherwise than that of a new one.
        end = None if self._trims else self._marks.history_end(tokens)
        return len(tokens) - 1 if end is None else end

    def _is_out_of_scope(self, found: Found) -> bool:
        return self.scope == "system" and found.length < len(found.kept.tokens)

    def _restored(self, found: Found) -> list[Any]:
        state: Any = found.kept.state
        try:
            return states.restore(self.model, state, found.length)
        except Exception:
            self.store.drop(found.kept)
            raise

    def _prefill(
        self,
        tokens: tuple[int, ...],
        use: Use,
        end: int,
        cache: list[Any],
        options: dict[str, Any],
    ) -> None:
        module = _module()
        step = {k: v for k, v in options.items() if k == "prefill_step_size"}
        part = mx.array(tokens[use.processed : end])
        with _wired(module, self.model):
            for _ in module.generate_step(
                part, self.model, max_tokens=0, prompt_cache=cache, **step
            ):
                pass
        use.processed = end

    def _can_serve(self, options: dict[str, Any]) -> bool:
        return all(value is None for name, value in options.items() if name not in _KNOWN)

    def _count(self, kept: bool) -> None:
        self.counters["stores" if kept else "refusals"] += 1

    def _succeeded(self, use: Use, seconds: float) -> None:
        use.seconds = max(seconds, 1e-9)
        self._failures = 0
        self.last = use
        if (request := current.get()) is not None:
            request.use = use
        kind = use.kind
        self.counters[{"hit": "hits", "partial hit": "partial_hits"}.get(kind, "misses")] += 1
        self.counters["reused_tokens"] += use.reused_tokens
        self.counters["prefilled_tokens"] += use.prefilled_tokens
        logger.info(
            "cachediag prefix cache %s: %d of %d prompt tokens reused, %d prefilled in %.2f s",
            kind.upper(),
            use.reused_tokens,
            use.prompt_tokens,
            use.prefilled_tokens,
            seconds,
        )

    def _failed(self) -> None:
        self.counters["failures"] += 1
        self._failures += 1
        if self.counters["failures"] == 1:
            logger.warning(
                "the prefix cache failed; this prompt is processed without it, and so are others "
                "that meet the same, which is not logged again",
                exc_info=True,
            )
        if self._failures >= _FAILURES:
            self.reason = f"it failed for {_FAILURES} requests in a row; the first is in the log"
            self.store.clear()
            logger.warning("the prefix cache is off: %s", self.reason)


def attach(cache: PrefixCache) -> None:
    """Serve a model's prompts from a cache from now on."""
    for name, stand_in in (("stream_generate", _stream_generate), ("generate", _generate)):
        if getattr(mlx_lm, name) is not stand_in:
            _originals[name] = getattr(mlx_lm, name)
            setattr(mlx_lm, name, stand_in)
    caches[id(cache.model)] = cache


def detach(model: Any) -> None:
    """Forget a model and all that was kept of its prompts."""
    if (cache := caches.pop(id(model), None)) is not None:
        cache.clear()


def _stream_generate(
    model: Any,
    tokenizer: Any,
    prompt: Any,
    max_tokens: int = 256,
    draft_model: Any = None,
    **options: Any,
) -> Generator[Any, None, None]:
    given = {"max_tokens": max_tokens, "draft_model": draft_model, **options}
    cache = caches.get(id(model))
    if isinstance(cache, PrefixCache):
        return cache.stream(tokenizer, prompt, given)
    stream: Generator[Any, None, None] = _originals["stream_generate"](
        model, tokenizer, prompt, **given
    )
    return stream


def _generate(
    model: Any, tokenizer: Any, prompt: Any, verbose: bool = False, **options: Any
) -> str:
    # mlx-lm's own calls the generator of its own module, and so not the one above.
    if verbose or id(model) not in caches:
        text: str = _originals["generate"](model, tokenizer, prompt, verbose=verbose, **options)
        return text
    request, pieces = current.get(), list[str]()
    with closing(_stream_generate(model, tokenizer, prompt, **options)) as responses:
        for response in responses:
            pieces.append(response.text)
            if request is not None and request.is_left:
                # Upstream waits for the end of it, or worse, does not.
                logger.info("nobody waits for the reply any more: generation ends")
                break
    return "".join(pieces)


def _module() -> Any:
    # The package has a function of the module's name.
    return importlib.import_module("mlx_lm.generate")


def _wired(module: Any, model: Any) -> AbstractContextManager[Any]:
    # Keeps the weights of a large model in memory while it works.
    wired = getattr(module, "wired_limit", None)
    return nullcontext() if wired is None else wired(model, [module.generation_stream])
