"""One server of a fleet: a queue, a prefix cache, a prompt in prefill, and requests that decode."""

import heapq
import math
from collections import deque
from typing import NamedTuple

from cachediag.simulate.model import Cache, Request, Server

__all__ = ["Ended", "ServingReplica"]


class Ended(NamedTuple):
    """A request that has ended. Times in seconds, from its arrival."""

    request: Request
    ttft: float
    total: float


class ServingReplica:
    """A server that is told when time has come for its next step.

    Decoding is kept in one number, the tokens that a request would have generated that ran all the
    time: each that joins ends at a count of its own, whatever the pace is until then. So a step
    costs the logarithm of how many run, and not their number.

    Args:
        number: its id.
        server: what it can do.
        cache: an empty one of its own.
    """

    __slots__ = (
        *("blocks", "blocks_reused", "busy", "cache", "due", "id", "input_tokens", "outstanding"),
        *("output_tokens", "reused_tokens", "step", "taken", "tokens"),
        *("_begun", "_clock", "_count", "_decoding", "_prefilling", "_queue", "_server", "_since"),
    )

    def __init__(self, number: int, server: Server, cache: Cache) -> None:
        self.id = number
        self.cache = cache
        self.outstanding = 0
        self.tokens = 0
        self.due = math.inf
        """When its next step is; infinite while nothing is there to do."""
        self.step = 0
        """Grows whenever `due` changes, which is how one that counts no more is told."""
        self.taken = 0
        self.input_tokens = 0
        self.reused_tokens = 0
        self.output_tokens = 0
        self.blocks = 0
        self.blocks_reused = 0
        self.busy = 0.0
        self._server = server
        self._queue: deque[tuple[float, Request]] = deque()
        self._prefilling: tuple[float, Request] | None = None
        self._decoding: list[tuple[float, int, float, float, Request]] = []
        """Count at which it ends, order of joining, arrival, time of the first token; a heap."""
        self._count = 0.0
        """Tokens that each has generated that ran from the beginning, up to `_since`."""
        self._since = 0.0
        self._begun = 0.0
        """When it last began to be busy."""

    @property
    def waiting(self) -> int:
        """Requests that have not begun their prefill."""
        return len(self._queue)

    @property
    def prefilling(self) -> bool:
        """Whether a prompt is in prefill."""
        return self._prefilling is not None

    def take(self, request: Request, now: float) -> None:
        """Take a request that has just arrived."""
        if not self.outstanding:
            self._begun = now
        self.outstanding += 1
        self.tokens += request.input_tokens + request.output_tokens
        self.taken += 1
        self.input_tokens += request.input_tokens
        self.output_tokens += request.output_tokens
        self.blocks += len(request.blocks)
        self._queue.append((now, request))
        if self._prefilling is None and len(self._decoding) < self._server.concurrency:
            self._decode_until(now)
            self._go_on(now)

    def proceed(self, now: float) -> list[Ended]:
        """Take the step that is due now; returns the requests that it ended."""
        ended = self._ends_of_decoding(now) if self._prefilling is None else self._first_token(now)
        for request, _, _ in ended:
            self.outstanding -= 1
            self.tokens -= request.input_tokens + request.output_tokens
            self.cache.end(request, now)
        if not self.outstanding:
            self.busy += now - self._begun
        self._go_on(now)
        return ended

    def _go_on(self, now: float) -> None:
        """Begin the next prefill if one may begin, else decode."""
        server = self._server
        self.step += 1
        if self._queue and len(self._decoding) < server.concurrency:
            self._prefilling = self._queue.popleft()
            request = self._prefilling[1]
            self.blocks_reused += self.cache.held(request.blocks)
            reused = self.cache.begin(request, now)
            self.reused_tokens += reused
            self.due = now + (request.input_tokens - reused) / server.prefill_rate
        elif self._decoding:
            self.due = now + (self._decoding[0][0] - self._count) / self._pace()
        else:
            self.due = math.inf

    def _pace(self) -> float:
        """Tokens a second of each request that decodes."""
        server = self._server
        return min(server.decode_rate, server.batch_rate / len(self._decoding))

    def _decode_until(self, now: float) -> None:
        if self._decoding:
            self._count += (now - self._since) * self._pace()
        self._since = now

    def _first_token(self, now: float) -> list[Ended]:
        """The prefill has ended, and with it the first token is there."""
        assert self._prefilling is not None
        arrival, request = self._prefilling
        self._prefilling = None
        self._since = now
        if request.output_tokens <= 1:
            return [Ended(request, now - arrival, now - arrival)]
        if not self._decoding:
            # Small numbers are the more exact ones.
            self._count = 0.0
        end = self._count + request.output_tokens - 1
        heapq.heappush(self._decoding, (end, self.step, arrival, now, request))
        return []

    def _ends_of_decoding(self, now: float) -> list[Ended]:
        decoding = self._decoding
        self._count = decoding[0][0]
        self._since = now
        ended = []
        while decoding and decoding[0][0] <= self._count:
            _, _, arrival, first, request = heapq.heappop(decoding)
            ended.append(Ended(request, first - arrival, now - arrival))
        return ended
