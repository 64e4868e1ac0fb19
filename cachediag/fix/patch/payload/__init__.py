"""A prefix cache for vllm-mlx's SimpleEngine, put beside it by `cachediag fix patch`.

It stands on its own: it needs mlx and mlx-lm, which the engine needs too, and nothing of cachediag.
"""

import logging
from typing import Any

__all__ = ["install"]

logger = logging.getLogger(__name__)


def install(engine: Any, *, slots: int, scope: str, max_bytes: int | None = None) -> None:
    """Give an engine class the cache; where that fails the engine stays as it is.

    Args:
        engine: vllm-mlx's `SimpleEngine`.
        slots: how many system prefixes are kept.
        scope: `system`, or `conversation` to keep the conversations that grow out of them too.
        max_bytes: how much memory it may take; by default a quarter of the machine's.
    """
    try:
        from .engine import install as install_engine

        install_engine(engine, slots=slots, scope=scope, max_bytes=max_bytes)
    except Exception:
        logger.exception("cachediag prefix cache off: it could not be installed")
