"""One server of a fleet: a queue, a prefix cache, a prompt in prefill, and requests that decode."""

import heapq
from collections import deque
from collections.abc import Callable

import simpy

from cachediag.simulate.model import Cache, Request, Server

__all__ = ["Ended", "ServingReplica"]

Ended = Callable[["ServingReplica", Request, float, float], None]
"""Is told who served which request, and the seconds from its arrival to its first token and to its
last."""


class ServingReplica:
    """A server in the time of a simulation.

    Decoding is kept in one number, the tokens that a request would have generated that ran all the
    time: each that joins ends at a count of its own, whatever the pace is until then. So a step
    costs the logarithm of how many run, and not their number.

    It is a chain of events and not a process, which would have to be interrupted for every prompt
    that comes while others decode: a run would take a fifth longer.

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
        *("_begun", "_count", "_decoding", "_ended", "_env", "_joined", "_next", "_queue"),
        *("_server", "_since"),
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
        """Tokens that each has generated that ran from the beginning, up to `_since`."""
        self._since = 0.0
        self._next: simpy.Event | None = None
        """The end of the prefill or, if nothing comes before it, the next end of a request."""
        self._begun = 0.0
        """When it last began to be busy."""

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
        self._queue.append((now, request))
        if not self.prefilling and len(self._decoding) < self._server.concurrency:
            if self._decoding:
                self._count += (now - self._since) * self._pace()
                self._release(now)
            self._go_on(now)

    def _go_on(self, now: float) -> None:
        """Begin the next prefill if one may begin, else decode."""
        if self._queue and len(self._decoding) < self._server.concurrency:
            self._prefill(*self._queue.popleft(), now)
        elif self._decoding:
            self._since = now
            self._next = self._env.timeout((self._decoding[0][0] - self._count) / self._pace())
            self._next.callbacks.append(self._decoded)

    def _prefill(self, arrival: float, request: Request, now: float) -> None:
        self.prefilling = True
        self.blocks_reused += self.cache.held(request.blocks)
        reused = self.cache.begin(request, now)
        self.reused_tokens += reused
        seconds = (request.input_tokens - reused) / self._server.prefill_rate
        self._next = self._env.timeout(seconds)
        self._next.callbacks.append(lambda _: self._prefilled(arrival, request))

    def _prefilled(self, arrival: float, request: Request) -> None:
        """The prefill has ended, and with it the first token is there."""
        self.prefilling = False
        now = self._env.now
        if request.output_tokens <= 1:
            self._end(request, arrival, now, now)
        else:
            if not self._decoding:
                # Small numbers are the more exact ones.
                self._count = 0.0
            self._joined += 1
            end = self._count + request.output_tokens - 1
            heapq.heappush(self._decoding, (end, self._joined, arrival, now, request))
        self._go_on(now)

    def _decoded(self, event: simpy.Event) -> None:
        """A request has its last token, unless a prefill has come between."""
        if event is self._next:
            now = self._env.now
            self._count = self._decoding[0][0]
            self._release(now)
            self._go_on(now)

    def _release(self, now: float) -> None:
        """Let go of the requests that have their last token."""
        decoding = self._decoding
        while decoding and decoding[0][0] <= self._count:
            _, _, arrival, first, request = heapq.heappop(decoding)
            self._end(request, arrival, first, now)

    def _pace(self) -> float:
        """Tokens a second of each request that decodes."""
        server = self._server
        return min(server.decode_rate, server.batch_rate / len(self._decoding))

    def _end(self, request: Request, arrival: float, first: float, now: float) -> None:
        self.outstanding -= 1
        self.tokens -= request.input_tokens + request.output_tokens
        self.cache.end(request, now)
        if not self.outstanding:
            self.busy += now - self._begun
        self._ended(self, request, first - arrival, now - arrival)
