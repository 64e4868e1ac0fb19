"""The table of cache models: one engine a file, named as on the command line.

`NAME[@VERSION][:OPTION=NUMBER[,OPTION=NUMBER]]`, for example `vllm-mlx:slots=1`,
`vllm:capacity=100000`, `anthropic`, `none`.
"""

import inspect
from collections.abc import Callable

from cachediag.analysis.engines import anthropic, openai
from cachediag.analysis.engines.anthropic import Anthropic
from cachediag.analysis.engines.conversations import ConversationSlots
from cachediag.analysis.engines.hosted import Price
from cachediag.analysis.engines.llama_cpp import LlamaCpp
from cachediag.analysis.engines.mlx_lm import MlxLm
from cachediag.analysis.engines.model import (
    Breakpoint,
    CacheModel,
    CacheRequest,
    Lifetime,
    PromptBlock,
    Reason,
    Served,
)
from cachediag.analysis.engines.no_cache import NoCache
from cachediag.analysis.engines.ollama import Ollama
from cachediag.analysis.engines.omlx import omlx
from cachediag.analysis.engines.openai import OpenAI
from cachediag.analysis.engines.sglang import sglang
from cachediag.analysis.engines.slots import SystemSlots
from cachediag.analysis.engines.vllm import vllm
from cachediag.analysis.engines.vllm_mlx import vllm_mlx
from cachediag.analysis.spec import entry, options
from cachediag.errors import UsageError

__all__ = [
    "ENGINES",
    "Breakpoint",
    "CacheModel",
    "CacheRequest",
    "Lifetime",
    "Price",
    "PromptBlock",
    "Reason",
    "Served",
    "engine",
    "price",
]


def _mlx_lm(*, slots: int = 10, trim: int = 1) -> CacheModel:
    return MlxLm(slots=slots, trim=trim)


def _lm_studio(*, slots: int = 10, trim: int = 1) -> CacheModel:
    return MlxLm(slots=slots, trim=trim, name="lm-studio", segments=False)


def _none() -> CacheModel:
    return NoCache()


ENGINES: dict[str, Callable[..., CacheModel]] = {
    "none": _none,
    "system-slots": SystemSlots,
    "conversation-slots": ConversationSlots,
    "vllm-mlx": vllm_mlx,
    "mlx-lm": _mlx_lm,
    "lm-studio": _lm_studio,
    "llama.cpp": LlamaCpp,
    "ollama": Ollama,
    "vllm": vllm,
    "sglang": sglang,
    "omlx": omlx,
    "anthropic": Anthropic,
    "openai": OpenAI,
}


_PRICES: dict[str, Callable[[str | None, int], Price | None]] = {
    "anthropic": anthropic.price,
    "openai": openai.price,
}


def price(name: str, model: str | None, tokens: int) -> Price | None:
    """What a hosted cache's prompts are charged by.

    Args:
        name: the cache model's name.
        model: the model that a request asks.
        tokens: how long its prompt is.

    Returns:
        None for an engine of one's own, and for a model whose price is not known.
    """
    return _PRICES[name](model, tokens) if name in _PRICES else None


def engine(spec: str) -> CacheModel:
    """A new cache model, empty, as a specification names it.

    Raises:
        UsageError: no engine has that name, or it has no such version or option.
    """
    head, _, rest = spec.partition(":")
    name, _, version = head.partition("@")
    build = entry(ENGINES, "cache model", name)
    versions = [version] if version else []
    if versions and "version" not in inspect.signature(build).parameters:
        raise UsageError(f"{name} has no versions", remedy=f"Write {name!r} alone.")
    return build(*versions, **options(name, build, rest))
