"""Ray Serve's `PrefixCacheAffinityRouter`.

The definition: https://github.com/ray-project/ray,
`python/ray/llm/_internal/serve/routing_policies/prefix_aware/prefix_aware_router.py` at commit
06c16f2 and `prefix_tree.py` at commit 19a1eaa.

The router keeps one tree of the texts that it has sent to each replica. While the longest and the
shortest queue differ by no more than `imbalanced_threshold`, the candidates are the replicas of the
longest match, or, if less than `match_rate_threshold` of the request matched, those with the fewest
characters in the tree. Else they are two replicas at random. The candidate with the shortest queue
is chosen. With `do_eviction`, at every interval a replica with more characters than the threshold
loses what was not used for longest, down to the target.

Approximations: the tree is made of blocks and not of characters, so a match ends at the end of a
block; sizes are blocks times the workload's characters a token. A queue's length is that of the
outstanding requests, always known, and no replica refuses a request. Of equal candidates the
first in an order that means nothing is chosen there, one at random here.
"""

from collections.abc import Sequence
from itertools import groupby
from math import inf

from cachediag.analysis.engines.prefix import at_least
from cachediag.simulate.model import Policy, Replica, Request, Scale
from cachediag.simulate.policies.loads import draws, least_loaded
from cachediag.simulate.policies.parameters import within
from cachediag.simulate.policies.prefix_tree import Node, PrefixTree, longest

__all__ = ["Ray"]


class Ray(Policy):
    """Chooses among the longest matches, or the smallest trees, the one with the shortest queue.

    Args:
        imbalanced_threshold: requests by which queues may differ for matches to count.
        match_rate_threshold: share of a request's text that must match.
        do_eviction: whether anything is dropped from the tree.
        eviction_threshold_chars: characters of a replica from which on some are dropped.
        eviction_target_chars: characters of a replica that are then kept.
        eviction_interval_secs: time between evictions.
    """

    name = "ray"

    def __init__(
        self,
        *,
        imbalanced_threshold: float = inf,
        match_rate_threshold: float = 0.1,
        do_eviction: bool = False,
        eviction_threshold_chars: int = 400_000,
        eviction_target_chars: int = 360_000,
        eviction_interval_secs: int = 10,
    ) -> None:
        self._imbalanced = within(0.0, inf, "imbalanced_threshold", imbalanced_threshold)
        self._match_rate = within(0.0, 1.0, "match_rate_threshold", match_rate_threshold)
        self._threshold = at_least(1, "eviction_threshold_chars", eviction_threshold_chars)
        self._target = at_least(0, "eviction_target_chars", eviction_target_chars)
        self._interval = at_least(1, "eviction_interval_secs", eviction_interval_secs)
        self._next_eviction = float(self._interval) if do_eviction else inf
        self._tree = PrefixTree()

    def prepare(self, scale: Scale, seed: int) -> None:
        """Learn what a block is, and begin the row of random numbers."""
        self._block = scale.block
        self._characters = scale.block * scale.characters
        self._draw = draws(seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:
        """Of the candidates, that with the shortest queue."""
        if now >= self._next_eviction:
            self._evict(now)
        loads = [each.outstanding for each in replicas]
        path = self._tree.path(request.blocks)
        if max(loads) - min(loads) > self._imbalanced:
            candidates = self._two(replicas)
        else:
            candidates = self._affine(path, request.input_tokens, replicas)
        chosen = least_loaded(candidates, self._draw)
        nodes = self._tree.insert(request.blocks, chosen.id, path)
        marks = self._tree.marks[chosen.id]
        for node in nodes:
            marks[node] = now
        return chosen

    def left(self, replica: int) -> None:
        """Forget what it was sent."""
        self._tree.remove(replica)

    def _two(self, replicas: Sequence[Replica]) -> Sequence[Replica]:
        """Two at random, or all if there are no more."""
        count = len(replicas)
        if count <= 2:
            return replicas
        first = int(self._draw() * count)
        second = int(self._draw() * (count - 1))
        return replicas[first], replicas[second + (second >= first)]

    def _affine(
        self, path: list[tuple[Node, int]], tokens: int, replicas: Sequence[Replica]
    ) -> Sequence[Replica]:
        """Those of the longest match, or those with the least in the tree."""
        holders, blocks = longest(path, replicas)
        if min(blocks * self._block, tokens) >= self._match_rate * tokens:
            return holders
        sizes = [self._tree.sizes.get(each.id, 0) for each in replicas]
        least = min(sizes)
        return [each for each, size in zip(replicas, sizes, strict=True) if size == least]

    def _evict(self, now: float) -> None:
        """Of each replica that has too much, drop what was not used for longest."""
        self._next_eviction = now + self._interval
        for replica, size in self._tree.sizes.items():
            if size * self._characters > self._threshold:
                self._drop_oldest(replica)

    def _drop_oldest(self, replica: int) -> None:
        """Nodes used at one time are dropped together."""
        tree, marks = self._tree, self._tree.marks[replica]
        used = sorted(marks.items(), key=lambda item: item[1])
        for _, nodes in groupby(used, key=lambda item: item[1]):
            if tree.sizes[replica] * self._characters <= self._target:
                break
            for node, _ in nodes:
                tree.drop(node, replica)
