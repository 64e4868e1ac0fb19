"""vLLM: full blocks of tokens, each named by all that stands before it.

Source: `docs/design/prefix_caching.md`, `vllm/v1/core/kv_cache_manager.py` and `block_pool.py` of
vllm-project/vllm, read in the state of autumn 2026.

- Blocks of 16 tokens, named by their tokens and the name of the block before; only full blocks are
  found again.
- When all of a prompt is kept, its last token is fed again, and so, since computed tokens come in
  blocks, is its last block.
- What a finished request held is dropped last block first, least recently used first. A partly
  filled block takes the room of a full one. The last token generated is never kept.
- Hybrid models make the block larger (784 tokens and more): `block=784`.

Not modelled: a block that is computed twice, by requests that run at once or for a last token, and
takes twice the room until both are dropped.
"""

from cachediag.analysis.engines.blocks import Blocks
from cachediag.analysis.engines.prefix import at_least, limit
from cachediag.analysis.engines.tree import PrefixTree

__all__ = ["vllm"]


def vllm(*, block: int = 16, capacity: int | None = None) -> Blocks:
    """An empty cache.

    Args:
        block: tokens in a block.
        capacity: tokens that fit into the cache, as the server prints it; None for no limit.
    """
    return Blocks("vllm", PrefixTree(at_least(1, "block", block), limit(capacity), partial=True))
