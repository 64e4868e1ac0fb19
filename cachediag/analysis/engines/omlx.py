"""omlx: blocks of 256 tokens, kept on disk.

Source: `omlx/cache/prefix_cache.py` and `paged_cache.py` of jundot/omlx, read in the state of 2026.
Blocks are named by their tokens and the name of the block before; a partly filled last block is not
stored. They live on disk, so there is no limit unless one is given.
"""

from cachediag.analysis.engines.blocks import Blocks
from cachediag.analysis.engines.prefix import at_least, limit
from cachediag.analysis.engines.tree import PrefixTree

__all__ = ["omlx"]


def omlx(*, block: int = 256, capacity: int | None = None) -> Blocks:
    """An empty cache.

    Args:
        block: tokens in a block.
        capacity: tokens that are kept at most; None for no limit.
    """
    return Blocks("omlx", PrefixTree(at_least(1, "block", block), limit(capacity)))
