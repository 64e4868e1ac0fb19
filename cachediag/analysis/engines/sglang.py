"""SGLang: a radix tree of tokens.

Source: `python/sglang/srt/mem_cache/radix_cache.py` and `allocation.py` of sgl-project/sglang, read
in the state of 2026.

- The longest prefix of single tokens that is kept is reused, but for the prompt's last token, which
  is fed again; with a larger page, whole pages.
- Whole leaves are dropped, least recently used first, and as many tokens as are asked for, not as
  are missing. The last token generated is never kept.
"""

from cachediag.analysis.engines.blocks import Blocks
from cachediag.analysis.engines.prefix import at_least, limit
from cachediag.analysis.engines.tree import PrefixTree

__all__ = ["sglang"]


def sglang(*, page: int = 1, capacity: int | None = None) -> Blocks:
    """An empty cache.

    Args:
        page: `--page-size`.
        capacity: tokens that fit into the cache, as the server prints it; None for no limit.
    """
    return Blocks(
        "sglang", PrefixTree(at_least(1, "page", page), limit(capacity), whole_leaves=True)
    )
