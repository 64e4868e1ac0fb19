"""vLLM's production-stack, routing logic `prefixaware`.

The definition: https://github.com/vllm-project/production-stack,
`src/vllm_router/routers/routing_logic.py` at commit 008a23b and
`src/vllm_router/prefix/hashtrie.py` at commit 35e4ad3.

A trie of the texts sent to each endpoint, in chunks of `chunk_size` characters. A request goes to
any of the available endpoints that hold the longest match, which may be all of them, and is added
to the trie. Load is not looked at, and nothing is ever dropped.

Approximation: a chunk is a whole number of blocks, the nearest to `chunk_size` characters by the
workload's characters a token, and at least one.
"""

from collections.abc import Sequence

from cachediag.analysis.engines.prefix import at_least
from cachediag.simulate.model import Policy, Replica, Request, Scale
from cachediag.simulate.policies.loads import draws
from cachediag.simulate.policies.prefix_tree import PrefixTree, coarser, longest

__all__ = ["ProductionStack"]


class ProductionStack(Policy):
    """Chooses at random among those of the longest match.

    Args:
        chunk_size: characters that match at once or not at all.
    """

    name = "production-stack"

    def __init__(self, *, chunk_size: int = 128) -> None:
        self._chunk_size = at_least(1, "chunk_size", chunk_size)
        self._tree = PrefixTree()

    def prepare(self, scale: Scale, seed: int) -> None:
        """Learn what a chunk is, and begin the row of random numbers."""
        self._step = max(1, round(self._chunk_size / (scale.block * scale.characters)))
        self._draw = draws(seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:  # noqa: ARG002
        """Any that holds the longest match."""
        chunks = coarser(request.blocks, self._step)
        path = self._tree.path(chunks)
        candidates, _ = longest(path, replicas)
        chosen = candidates[int(self._draw() * len(candidates))]
        self._tree.insert(chunks, chosen.id, path)
        return chosen

    def left(self, replica: int) -> None:
        """Forget what it was sent: it is available no more."""
        self._tree.remove(replica)
