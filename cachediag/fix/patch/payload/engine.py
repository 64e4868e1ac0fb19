"""The engine's methods at which the cache is let in; one that a release lacks is left out."""

import asyncio
import contextvars
import functools
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from . import generation
from .http import Layer
from .messages import keep_in_place
from .registry import caches
from .requests import current

__all__ = ["install"]

logger = logging.getLogger(__name__)

_SHARE_OF_MEMORY = 4
"""By default the cache takes at most this part of the machine's memory: one in so many."""


def install(engine: Any, *, slots: int, scope: str, max_bytes: int | None = None) -> None:
    """Give an engine class the prefix cache.

    Args:
        engine: vllm-mlx's `SimpleEngine`.
        slots: how many system prefixes are kept.
        scope: `system` or `conversation`.
        max_bytes: how much memory it may take; by default a quarter of the machine's.
    """
    limit = max_bytes or _default_bytes()

    def started(self: Any) -> None:
        _attach(self, slots=slots, scope=scope, max_bytes=limit)

    _after(engine, "__init__", lambda _self: _add_layer())
    _after(engine, "__init__", lambda _self: keep_in_place(_takes_system_anywhere))
    _after_async(engine, "start", started)
    _before_async(engine, "stop", _detach)
    for name in ("stream_chat", "stream_generate"):
        _note_streams(engine, name)
    for name in ("chat", "generate"):
        _note_cancellation(engine, name)
    _keep_context(engine, "_generation_worker")


def _default_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _SHARE_OF_MEMORY


def _attach(self: Any, *, slots: int, scope: str, max_bytes: int) -> None:
    backing: Any = getattr(self, "_model", None)
    model = getattr(backing, "model", None)
    if model is None or getattr(self, "_cachediag_model", None) is model:
        return
    # The engine may have been given another model without being stopped.
    _detach(self)
    if getattr(self, "_is_mllm", False):
        logger.info("cachediag prefix cache off: the model is multimodal")
        return
    cache = generation.PrefixCache(
        model, backing.tokenizer, slots=slots, scope=scope, max_bytes=max_bytes
    )
    generation.attach(cache)
    self._cachediag_model = model
    if cache.reason:
        logger.warning("cachediag prefix cache off: %s", cache.reason)
        return
    if hasattr(self, "_supports_system_kv_cache"):
        # Else upstream brings a cache of its own, which is never touched.
        self._supports_system_kv_cache = False
        logger.info("upstream's own system KV cache is off, and says SKIP of each request")
    logger.info(
        "cachediag prefix cache on: %d slots, scope %s, at most %.1f GB",
        *(slots, scope, max_bytes / 1e9),
    )


def _detach(self: Any) -> None:
    model = getattr(self, "_cachediag_model", None)
    if model is not None:
        self._cachediag_model = None
        generation.detach(model)


def _takes_system_anywhere() -> bool:
    return bool(caches) and all(each.takes_system_anywhere for each in caches.values())


def _add_layer() -> None:
    for name in ("vllm_mlx.server", "__main__"):
        app: Any = getattr(sys.modules.get(name), "app", None)
        if not hasattr(app, "middleware_stack") or getattr(app, "cachediag_layer", False):
            continue
        if app.middleware_stack is None:
            app.add_middleware(Layer)
        else:
            app.middleware_stack = Layer(app.middleware_stack)
        app.cachediag_layer = True


def _guarded(call: Callable[[Any], None], self: Any) -> None:
    try:
        call(self)
    except Exception:
        logger.exception("cachediag prefix cache off: it could not be set up")


def _after(engine: Any, name: str, call: Callable[[Any], None]) -> None:
    if (original := getattr(engine, name, None)) is None:
        return

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        _guarded(call, self)
        return result

    setattr(engine, name, method)


def _after_async(engine: Any, name: str, call: Callable[[Any], None]) -> None:
    if (original := getattr(engine, name, None)) is None:
        return

    @functools.wraps(original)
    async def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = await original(self, *args, **kwargs)
        _guarded(call, self)
        return result

    setattr(engine, name, method)


def _before_async(engine: Any, name: str, call: Callable[[Any], None]) -> None:
    if (original := getattr(engine, name, None)) is None:
        return

    @functools.wraps(original)
    async def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        _guarded(call, self)
        return await original(self, *args, **kwargs)

    setattr(engine, name, method)


def _note_streams(engine: Any, name: str) -> None:
    """Let the request at hand know of the generators that it begins."""
    if (original := getattr(engine, name, None)) is None:
        return

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        stream = original(self, *args, **kwargs)
        if (request := current.get()) is not None:
            request.streams.append(stream)
        return stream

    setattr(engine, name, method)


def _note_cancellation(engine: Any, name: str) -> None:
    """Let the request at hand know that it is given up, before upstream waits for its thread."""
    if (original := getattr(engine, name, None)) is None:
        return

    @functools.wraps(original)
    async def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        inner = asyncio.ensure_future(original(self, *args, **kwargs))
        try:
            return await asyncio.shield(inner)
        except asyncio.CancelledError:
            if (request := current.get()) is not None:
                request.is_left = True
            inner.cancel()
            return await inner

    setattr(engine, name, method)


def _keep_context(engine: Any, name: str) -> None:
    """Let the engine's own thread know of the request: executors drop context variables."""
    if (original := getattr(engine, name, None)) is None:
        return

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        executor = original(self, *args, **kwargs)
        if not hasattr(executor, "cachediag_submit"):
            submit = executor.submit

            def in_context(function: Any, /, *given: Any, **named: Any) -> Any:
                return submit(contextvars.copy_context().run, function, *given, **named)

            executor.cachediag_submit = submit
            executor.submit = in_context
        return executor

    setattr(engine, name, method)
