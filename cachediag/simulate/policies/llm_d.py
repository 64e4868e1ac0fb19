"""llm-d's router with its default configuration: queue, cache use, and an estimate of the prefixes.

The definition: https://github.com/llm-d/llm-d-router (from the Kubernetes gateway API inference
extension), `pkg/epp/config/loader/defaults.go` at commit 0b59e4e for the scorers and their weights,
and under `pkg/epp/framework/plugins/`
`requestcontrol/dataproducer/approximateprefix/{plugin,indexer,types}.go` at commits 09a534f and
8998b3a, `scheduling/scorer/prefix`, `queuedepth` and `kvcacheutilization`.

Each replica has three scores from 0 to 1, and that with the highest weighted sum is chosen, one of
equals at random:

- prefix: the share of the prompt's blocks that it was sent before, by an index of hashed blocks
  that keeps `lruCapacityPerServer` of them in least-recently-used order for each server. Blocks are
  looked up from the first until none has one. Those of a prompt are used from the first to the
  last, so the head of a prompt is the first to go.
- queue: 1 for the fewest waiting requests, 0 for the most, in proportion between.
- cache use: 1 less the share of the server's cache that is taken.

Blocks are of `blockSizeTokens`, but never of fewer than 64 tokens. At most `maxPrefixTokensToMatch`
tokens are looked at, or where that is 0 `maxPrefixBlocksToMatch` blocks, or where both are, all.

Approximations: a block of the index is a whole number of the workload's blocks, the nearest, and at
least one; where it is larger than it should be, the index holds fewer, for as many tokens. What
`autoTune` would read from the servers must be given. The share of a cache that is taken is the
tokens of all outstanding requests by `kvCacheTokens`, which the original is told by the server; its
default is what a comment there works out for one. The original's figures of queue and cache are up
to some 50 ms old; here they are those of the moment.
"""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from itertools import repeat
from math import inf
from sys import maxsize

from cachediag.analysis.engines.prefix import at_least
from cachediag.simulate.model import Policy, Replica, Request, Scale
from cachediag.simulate.policies.loads import draws, one_of
from cachediag.simulate.policies.parameters import within
from cachediag.simulate.policies.prefix_tree import coarser

__all__ = ["LlmD"]

_LEAST_BLOCK = 64


class LlmD(Policy):
    """Chooses by a sum of scores.

    Args:
        blockSizeTokens: tokens in a block of the index; below 64 counts as 64.
        maxPrefixTokensToMatch: tokens of a prompt that are looked at; 0 to count in blocks.
        maxPrefixBlocksToMatch: blocks of a prompt that are looked at; 0 for all.
        lruCapacityPerServer: blocks in the index for each server.
        kvCacheTokens: tokens that a server's cache takes.
        queueScorerWeight: of the score by waiting requests.
        kvCacheUtilizationScorerWeight: of the score by the use of the cache.
        prefixCacheScorerWeight: of the score by the prefix.
    """

    name = "llm-d"

    def __init__(
        self,
        *,
        blockSizeTokens: int = 16,  # noqa: N803 - these are published names
        maxPrefixTokensToMatch: int = 131_072,  # noqa: N803
        maxPrefixBlocksToMatch: int = 2048,  # noqa: N803
        lruCapacityPerServer: int = 31_250,  # noqa: N803
        kvCacheTokens: int = 500_000,  # noqa: N803
        queueScorerWeight: float = 2.0,  # noqa: N803
        kvCacheUtilizationScorerWeight: float = 2.0,  # noqa: N803
        prefixCacheScorerWeight: float = 3.0,  # noqa: N803
    ) -> None:
        self._block = max(at_least(1, "blockSizeTokens", blockSizeTokens), _LEAST_BLOCK)
        self._most_tokens = at_least(0, "maxPrefixTokensToMatch", maxPrefixTokensToMatch)
        self._most_blocks = at_least(0, "maxPrefixBlocksToMatch", maxPrefixBlocksToMatch)
        self._capacity = at_least(1, "lruCapacityPerServer", lruCapacityPerServer)
        self._cache = at_least(1, "kvCacheTokens", kvCacheTokens)
        self._queue_weight = within(0.0, inf, "queueScorerWeight", queueScorerWeight)
        self._cache_weight = within(
            0.0, inf, "kvCacheUtilizationScorerWeight", kvCacheUtilizationScorerWeight
        )
        self._prefix_weight = within(0.0, inf, "prefixCacheScorerWeight", prefixCacheScorerWeight)
        self._holders: dict[int, int] = {}
        """Of each block, bit n for the replica of id n."""
        self._recent: dict[int, OrderedDict[int, None]] = {}
        """For each replica its blocks, that least recently used first."""

    def prepare(self, scale: Scale, seed: int) -> None:
        """Learn what a block is, and begin the row of random numbers that break ties."""
        self._step = max(1, round(self._block / scale.block))
        tokens = self._step * scale.block
        most = self._most_tokens // tokens if self._most_tokens else self._most_blocks or maxsize
        self._most = most
        self._kept = max(1, round(self._capacity * self._block / tokens))
        self._draw = draws(seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:  # noqa: ARG002
        """The one with the highest score."""
        keys = coarser(request.blocks, self._step)[: self._most]
        matches = self._matches(keys)
        share = self._prefix_weight / len(keys) if keys else 0.0
        waiting = [each.waiting for each in replicas]
        longest = max(waiting)
        apart = longest - min(waiting)
        scores = []
        for replica, queue in zip(replicas, waiting, strict=True):
            bit = 1 << replica.id
            matched = 0
            for holders, count in matches:
                if holders & bit:
                    matched += count
            free = (longest - queue) / apart if apart else 1.0
            used = min(1.0, replica.tokens / self._cache)
            scores.append(
                share * matched + self._queue_weight * free + self._cache_weight * (1 - used)
            )
        chosen = replicas[one_of(scores, max(scores), self._draw)]
        self._add(keys, chosen.id)
        return chosen

    def left(self, replica: int) -> None:
        """Forget what it was sent."""
        for key in self._recent.pop(replica, ()):
            self._drop(key, replica)

    def _matches(self, keys: tuple[int, ...]) -> list[tuple[int, int]]:
        """How many blocks each set of replicas holds, up to the first that none does."""
        found = list(map(self._holders.get, keys, repeat(0)))
        if 0 in found:
            del found[found.index(0) :]
        return list(Counter(found).items())

    def _add(self, keys: tuple[int, ...], replica: int) -> None:
        recent = self._recent.setdefault(replica, OrderedDict())
        holders, bit, use = self._holders, 1 << replica, recent.move_to_end
        for key in keys:
            if key in recent:
                use(key)
            else:
                recent[key] = None
                holders[key] = holders.get(key, 0) | bit
        while len(recent) > self._kept:
            self._drop(recent.popitem(last=False)[0], replica)

    def _drop(self, key: int, replica: int) -> None:
        holders = self._holders[key] ^ 1 << replica
        if holders:
            self._holders[key] = holders
        else:
            del self._holders[key]
