"""SGLang's router, policy `cache_aware`.

The definition: https://github.com/sgl-project/sglang,
`sgl-model-gateway/src/policies/cache_aware.rs` at commit 053b63f and `tree.rs` at commit 03744db;
the defaults are those of the command line, `sgl-model-gateway/src/main.rs` (its Python launcher at
commit 05e589a evicts every 60 s).

The router keeps one tree of the texts that it has sent to each worker. While the load is uneven, by
both thresholds, a request goes to the worker with the fewest requests. Else it goes to the worker
of the longest match, if more than `cache_threshold` of the request matched, and if not, to that
with the fewest requests again. (The head of that file still says that it goes to the smallest
tree.) Of equals the first is taken. Of several workers that hold the longest match that one is
taken by which it came into the tree.

Approximations: the tree is made of blocks and not of characters, so a match ends at the end of a
block; sizes are blocks times the workload's characters a token. `max_tree_size` is described as
nodes, and held against characters: so it is here. Once the first worker is gone from a node, any
other stands in there; here it is that of the lowest id.
"""

import heapq
from collections.abc import Sequence
from itertools import count
from math import inf

from cachediag.analysis.engines.prefix import at_least
from cachediag.simulate.model import Policy, Replica, Request, Scale
from cachediag.simulate.policies.parameters import within
from cachediag.simulate.policies.prefix_tree import Node, PrefixTree, lowest

__all__ = ["SGLang"]

# Every eighth step of the clock, a match counts as a use.
_MATCH_COUNTS = 8


class SGLang(Policy):
    """Chooses the longest match while the load is even, and the least loaded otherwise.

    Args:
        cache_threshold: share of a request's text that must match.
        balance_abs_threshold: requests by which the most and the least loaded may differ.
        balance_rel_threshold: times that the most loaded may have the requests of the least.
        eviction_interval_secs: time between evictions; 0 for none.
        max_tree_size: characters of a worker that are kept at an eviction.
    """

    name = "sglang"

    def __init__(
        self,
        *,
        cache_threshold: float = 0.3,
        balance_abs_threshold: int = 64,
        balance_rel_threshold: float = 1.5,
        eviction_interval_secs: int = 120,
        max_tree_size: int = 67_108_864,
    ) -> None:
        self._cache_threshold = within(0.0, 1.0, "cache_threshold", cache_threshold)
        self._most_apart = at_least(0, "balance_abs_threshold", balance_abs_threshold)
        self._most_times = within(1.0, inf, "balance_rel_threshold", balance_rel_threshold)
        self._interval = at_least(0, "eviction_interval_secs", eviction_interval_secs) or inf
        self._max_tree_size = at_least(1, "max_tree_size", max_tree_size)
        self._tree = PrefixTree()
        self._clock = count()
        self._next_eviction = float(self._interval)

    def prepare(self, scale: Scale, seed: int) -> None:  # noqa: ARG002
        """Learn what a block is."""
        self._block = scale.block
        self._most_blocks = self._max_tree_size / (scale.block * scale.characters)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:
        """By match or by load."""
        if now >= self._next_eviction:
            self._evict(now)
        loads = [each.outstanding for each in replicas]
        most, least = max(loads), min(loads)
        chosen = replicas[loads.index(least)]
        path = self._tree.path(request.blocks)
        if most - least <= self._most_apart or most <= least * self._most_times:
            own = self._match(path, request.input_tokens)
            chosen = next((each for each in replicas if each.id == own), chosen)
        nodes = self._tree.insert(request.blocks, chosen.id, path)
        if nodes:
            self._tree.marks[chosen.id][nodes[-1]] = next(self._clock)
        return chosen

    def left(self, replica: int) -> None:
        """Forget what it was sent."""
        self._tree.remove(replica)

    def _match(self, path: list[tuple[Node, int]], tokens: int) -> int | None:
        """Whose match is long enough for a prompt of so many tokens, if any's is."""
        tick = next(self._clock)
        if not path:
            return None
        node, blocks = path[-1]
        if not node.holders >> node.first & 1:
            node.first = lowest(node.holders)
        if tick % _MATCH_COUNTS == 0:
            self._tree.marks[node.first][node] = tick
        matched = min(blocks * self._block, tokens)
        return node.first if matched > self._cache_threshold * tokens else None

    def _evict(self, now: float) -> None:
        """Of each replica that has too much, drop the leaves that were not used for longest."""
        self._next_eviction = now + self._interval
        for replica, size in self._tree.sizes.items():
            if size > self._most_blocks:
                self._drop_leaves(replica)

    def _drop_leaves(self, replica: int) -> None:
        tree, marks = self._tree, self._tree.marks[replica]
        children: dict[Node | None, int] = {}
        for node in marks:
            children[node.parent] = children.get(node.parent, 0) + 1
        order = count()
        leaves = [(at, next(order), node) for node, at in marks.items() if node not in children]
        heapq.heapify(leaves)
        while leaves and tree.sizes[replica] > self._most_blocks:
            node = heapq.heappop(leaves)[2]
            parent = node.parent
            tree.drop(node, replica)
            if parent is not None:
                children[parent] -= 1
                if not children[parent]:
                    heapq.heappush(leaves, (marks[parent], next(order), parent))
