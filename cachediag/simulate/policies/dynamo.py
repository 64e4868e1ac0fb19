"""NVIDIA Dynamo's KV router.

The definition: https://github.com/ai-dynamo/dynamo, `docs/components/router/router-guide.md` at
commit 0091c32 (release 1.0), with `lib/kv-router/src/scheduling/selector.rs` at commit 01690d4 for
softmax and ties. Later releases call the weight `prefill_load_scale`; with their defaults the cost
is the same.

    cost = kv_overlap_score_weight * prefill blocks + decode blocks

The prefill blocks of a worker are the tokens that it has yet to prefill, and those of the new
request that its cache does not hold, by the size of a block: the router knows by events what each
cache holds. The decode blocks are those of the prompts of its running requests, each counted once
however many share it, and those of the new request that are not among them. What is generated is
not counted (`router_track_output_blocks` is off by default). The lowest cost is chosen, one of
equals at random, or, with `router_temperature`, one by a softmax of the costs, scaled by how far
they lie apart.

Approximations: events take no time. Prompts are prefilled first come first served, and a prompt
counts with what was not in the cache when it was sent, until its prefill ends.
"""

from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from math import exp, inf

from cachediag.simulate.model import Policy, Replica, Request, Scale
from cachediag.simulate.policies.loads import draws, one_of
from cachediag.simulate.policies.parameters import within
from cachediag.simulate.policies.prefix_tree import Node, PrefixTree

__all__ = ["Dynamo"]


class _Backlog:
    """What a replica has yet to prefill."""

    __slots__ = ("prompts", "tokens")

    def __init__(self) -> None:
        self.prompts: deque[int] = deque()
        """Tokens of each prompt that its cache did not hold, in the order of their prefills."""
        self.tokens = 0

    def add(self, tokens: int) -> None:
        """A prompt was sent there."""
        self.prompts.append(tokens)
        self.tokens += tokens

    def shrink(self, prompts: int) -> int:
        """Its last so many prompts are left; returns their tokens."""
        while len(self.prompts) > prompts:
            self.tokens -= self.prompts.popleft()
        return self.tokens


class Dynamo(Policy):
    """Chooses the lowest cost.

    Args:
        kv_overlap_score_weight: what a block to prefill costs, by one to decode.
        router_temperature: how far the choice is random; 0 for not at all.
    """

    name = "dynamo"

    def __init__(
        self, *, kv_overlap_score_weight: float = 1.0, router_temperature: float = 0.0
    ) -> None:
        self._weight = within(0.0, inf, "kv_overlap_score_weight", kv_overlap_score_weight)
        self._temperature = within(0.0, inf, "router_temperature", router_temperature)
        self._active = PrefixTree()
        """Prompts of running requests; a mark counts those that hold the node."""
        self._backlogs: dict[int, _Backlog] = {}

    def prepare(self, scale: Scale, seed: int) -> None:
        """Learn what a block is, and begin the row of random numbers."""
        self._block = scale.block
        self._draw = draws(seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:  # noqa: ARG002
        """The one with the lowest cost, or nearly so."""
        blocks, scale = request.blocks, self._weight / self._block
        path = self._active.path(blocks)
        levels, sizes = _levels(path), self._active.sizes
        new, costs = [], []
        best = inf
        for replica in replicas:
            number, tokens = replica.id, 0
            cost: float = sizes.get(number, 0) + len(blocks)
            backlog = self._backlogs.get(number)
            if backlog is not None and backlog.prompts:
                cost += scale * backlog.shrink(replica.waiting + replica.prefilling)
            for holders, shared in levels:
                if holders >> number & 1:
                    cost -= shared
                    break
            # What would lose though its cache held everything is not asked what it holds.
            if cost <= best or self._temperature:
                held = replica.cache.held(blocks) * self._block
                tokens = max(0, request.input_tokens - held)
                cost += scale * tokens
                best = min(best, cost)
            new.append(tokens)
            costs.append(cost)
        index = self._pick(costs)
        chosen = replicas[index]
        self._backlogs.setdefault(chosen.id, _Backlog()).add(new[index])
        nodes = self._active.insert(blocks, chosen.id, path)
        marks = self._active.marks[chosen.id]
        for node in nodes:
            marks[node] += 1
        return chosen

    def ended(self, request: Request, replica: Replica, now: float) -> None:  # noqa: ARG002
        """Its blocks are active no more."""
        marks = self._active.marks.get(replica.id)
        if marks is None:
            return
        for node, _ in reversed(self._active.path(request.blocks)):
            marks[node] -= 1
            if not marks[node]:
                self._active.drop(node, replica.id)

    def left(self, replica: int) -> None:
        """Forget what runs there."""
        self._active.remove(replica)
        self._backlogs.pop(replica, None)

    def _pick(self, costs: list[float]) -> int:
        low, high = min(costs), max(costs)
        if not self._temperature or low == high:
            return one_of(costs, low, self._draw)
        scale = (high - low) * self._temperature
        sums = list(accumulate(exp((low - cost) / scale) for cost in costs))
        drawn = self._draw() * sums[-1]
        return next(index for index, so_far in enumerate(sums) if drawn < so_far)


def _levels(path: list[tuple[Node, int]]) -> list[tuple[int, int]]:
    """Who has so many of a prompt's blocks in running requests, the most first."""
    levels: list[tuple[int, int]] = []
    known = 0
    for node, length in reversed(path):
        if node.holders != known:
            known = node.holders
            levels.append((known, length))
    return levels
