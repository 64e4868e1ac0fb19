"""One server of a fleet: a queue, a prefix cache, a prompt in prefill, and requests that decode."""

import heapq
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

import simpy

from cachediag.simulate.model import Cache, Request, Server

__all__ = ["Ended", "ServingReplica"]

_Steps: TypeAlias = simpy.events.ProcessGenerator

Ended = Callable[["ServingReplica", Request, float, float], None]
"""Is told who served which request, and the seconds from its arrival to its first token and to its
last."""


class ServingReplica:
    """A server, as a process of a simulation.

    Decoding is kept in one number, the tokens that a request would have generated that ran all the
    time: each that joins ends at a count of its own, whatever the pace is until then. So a step
    costs the logarithm of how many run, and not their number.

    Args:
        env: whose time it lives in.
        number: its id.
        server: what it can do.
        cache: an empty one of its own.
        ended: is told of each request when its last token is generated.
    """

    __slots__ = (
        *("blocks", "blocks_reused", "busy", "cache", "id", "input_tokens", "outstanding"),
        *("output_tokens", "prefilling", "reused_tokens", "taken", "tokens"),
        *("_begun", "_count", "_decoding", "_ended", "_env", "_joined", "_may_be_interrupted"),
        *("_process", "_queue", "_server"),
    )

    def __init__(
        self, env: simpy.Environment, number: int, server: Server, cache: Cache, ended: Ended
    ) -> None:
        self.id = number
        self.cache = cache
        self.outstanding = 0
        self.tokens = 0
        self.prefilling = False
        self.taken = 0
        self.input_tokens = 0
        self.reused_tokens = 0
        self.output_tokens = 0
        self.blocks = 0
        self.blocks_reused = 0
        self.busy = 0.0
        self._env = env
        self._server = server
        self._ended = ended
        self._queue: deque[tuple[float, Request]] = deque()
        self._decoding: list[tuple[float, int, float, float, Request]] = []
        """Count at which it ends, order of joining, arrival, time of the first token; a heap."""
        self._joined = 0
        self._count = 0.0
        """Tokens that each has generated that ran from the beginning, at the last step."""
        self._begun = 0.0
        """When it last began to be busy."""
        self._may_be_interrupted = False
        self._process = env.process(self._serve())

    @property
    def waiting(self) -> int:
        """Requests that have not begun their prefill."""
        return len(self._queue)

    def take(self, request: Request) -> None:
        """Take a request that has just arrived."""
        now = self._env.now
        if not self.outstanding:
            self._begun = now
        self.outstanding += 1
        self.tokens += request.input_tokens + request.output_tokens
        self.taken += 1
        self.input_tokens += request.input_tokens
        self.output_tokens += request.output_tokens
        self.blocks += len(request.blocks)
        is_first = not self._queue
        self._queue.append((now, request))
        if is_first and self._may_be_interrupted and self._has_room():
            self._process.interrupt()

    def _has_room(self) -> bool:
        return len(self._decoding) < self._server.concurrency

    def _serve(self) -> _Steps:
        while True:
            if self._queue and self._has_room():
                yield from self._prefill(*self._queue.popleft())
            else:
                yield from self._decode()

    def _prefill(self, arrival: float, request: Request) -> _Steps:
        self.prefilling = True
        self.blocks_reused += self.cache.held(request.blocks)
        reused = self.cache.begin(request, self._env.now)
        self.reused_tokens += reused
        yield self._env.timeout((request.input_tokens - reused) / self._server.prefill_rate)
        self.prefilling = False
        # The first token is there when the prefill has ended.
        now = self._env.now
        if request.output_tokens <= 1:
            self._end(request, arrival, now)
            return
        if not self._decoding:
            # Small numbers are the more exact ones.
            self._count = 0.0
        self._joined += 1
        end = self._count + request.output_tokens - 1
        heapq.heappush(self._decoding, (end, self._joined, arrival, now, request))

    def _decode(self) -> _Steps:
        """Go on until a request ends, or one comes whose prefill can begin."""
        decoding, since = self._decoding, self._env.now
        pace = self._pace()
        self._may_be_interrupted = True
        try:
            if decoding:
                yield self._env.timeout((decoding[0][0] - self._count) / pace)
                self._count = decoding[0][0]
            else:
                yield self._env.event()
        except simpy.Interrupt:
            self._count += (self._env.now - since) * pace
        self._may_be_interrupted = False
        while decoding and decoding[0][0] <= self._count:
            _, _, arrival, first, request = heapq.heappop(decoding)
            self._end(request, arrival, first)

    def _pace(self) -> float:
        """Tokens a second of each request that decodes."""
        server = self._server
        return min(server.decode_rate, server.batch_rate / max(1, len(self._decoding)))

    def _end(self, request: Request, arrival: float, first: float) -> None:
        now = self._env.now
        self.outstanding -= 1
        self.tokens -= request.input_tokens + request.output_tokens
        self.cache.end(request, now)
        if not self.outstanding:
            self.busy += now - self._begun
        self._ended(self, request, first - arrival, now - arrival)
