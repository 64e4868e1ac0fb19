"""A workload played over a fleet of replicas, event by event.

At one time, joining and leaving come before ends, and ends before arrivals. A prompt's first token
is there when its prefill ends; the others are decoded, so a request of one token ends there.
"""

import heapq
import math
from array import array
from collections.abc import Iterator, Sequence

from cachediag.errors import InputError, UsageError
from cachediag.simulate.caches import cache_for
from cachediag.simulate.model import Change, Policy, Request, Run, Server, Workload
from cachediag.simulate.replica import Ended, ServingReplica

__all__ = ["play"]


def play(
    workload: Workload,
    server: Server,
    policy: Policy,
    *,
    replicas: int,
    seed: int,
    changes: Sequence[Change] = (),
    limit: int | None = None,
) -> Run:
    """Send a workload's requests to the replicas that a policy chooses, and serve them.

    Args:
        workload: the requests.
        server: what each replica can do.
        policy: a new one, which learns while it chooses.
        replicas: how many there are at the start.
        seed: of the workload and of the policy.
        changes: when replicas join or leave; those after the last end are not played.
        limit: send so many requests at most.

    Raises:
        UsageError: no replica would be left, or the server's engine cannot be asked.
        InputError: the workload's requests are not in the order of their arrival.
    """
    arrivals = _Arrivals(workload, seed, limit)
    fleet = _Fleet(workload, server, policy, replicas, changes)
    policy.prepare(workload.scale, seed)
    ttft, total = array("d"), array("d")
    late = server.latency
    first = arrivals.at
    now = 0.0
    while fleet.outstanding or arrivals.at < math.inf:
        if fleet.at <= arrivals.at:
            now = fleet.at
            for ended in fleet.proceed():
                ttft.append(ended.ttft + late)
                total.append(ended.total + late)
                arrivals.follow(ended.request, now + late)
        else:
            now = arrivals.at
            fleet.send(arrivals.take(), now)
    seconds = now - first if total else 0.0
    return _run(policy.name, seed, fleet.all, seconds=seconds, ttft=ttft, total=total)


class _Arrivals:
    """Requests in the order of their arrival: the workload's own, and those that follow others."""

    def __init__(self, workload: Workload, seed: int, limit: int | None) -> None:
        self._name = workload.name
        self._requests: Iterator[Request] = workload.requests(seed)
        self._left = math.inf if limit is None else limit
        self._next: Request | None = None
        self._following: list[tuple[float, int, Request]] = []
        self._followed = 0
        self.at = -math.inf
        """When the next request arrives; infinite if none does."""
        self._advance()

    def take(self) -> Request:
        """The request that has arrived."""
        self._left -= 1
        request = self._next
        if request is not None and request.arrival == self.at:
            self._advance()
        else:
            request = heapq.heappop(self._following)[2]
            self._set_at()
        return request

    def follow(self, request: Request, now: float) -> None:
        """A request has ended: its client's next one will arrive."""
        if request.then is not None and self._left > 0:
            self._followed += 1
            at = now + request.pause
            heapq.heappush(self._following, (at, self._followed, request.then()))
            self.at = min(self.at, at)

    def _advance(self) -> None:
        before = self._next
        self._next = next(self._requests, None)
        if before and self._next and self._next.arrival < before.arrival:
            raise InputError("requests are not in the order of their arrival", where=self._name)
        self._set_at()

    def _set_at(self) -> None:
        own = math.inf if self._next is None else self._next.arrival
        following = self._following[0][0] if self._following else math.inf
        self.at = min(own, following) if self._left > 0 else math.inf


class _Fleet:
    """All replicas, and when one of them has something to do."""

    def __init__(
        self,
        workload: Workload,
        server: Server,
        policy: Policy,
        replicas: int,
        changes: Sequence[Change],
    ) -> None:
        self._scale, self._server, self._policy = workload.scale, server, policy
        self._changes = sorted(changes, key=lambda change: change.at)
        self.all: list[ServingReplica] = []
        """By their ids."""
        self._taking: list[ServingReplica] = []
        """Those that take requests, in the order of joining."""
        self.outstanding = 0
        self._events: list[tuple[float, int, int, ServingReplica]] = []
        """Time, order of planning, step of the replica that was planned; a heap."""
        self._planned = 0
        self.at = math.inf
        """When something is next to be done here."""
        _check(replicas, self._changes)
        self._join(replicas)
        self._set_at()

    def send(self, request: Request, now: float) -> None:
        """Have a request served that has arrived."""
        replica = self._policy.choose(request, self._taking, now)
        assert isinstance(replica, ServingReplica)
        self.outstanding += 1
        step = replica.step
        replica.take(request, now)
        if replica.step != step:
            self._plan(replica)
            self._set_at()

    def proceed(self) -> Sequence[Ended]:
        """Do what is next to be done; returns the requests that this ended."""
        now = self.at
        if self._changes and self._changes[0].at <= now:
            self._change(self._changes.pop(0))
            self._set_at()
            return ()
        replica = heapq.heappop(self._events)[3]
        ended = replica.proceed(now)
        self.outstanding -= len(ended)
        for request, _, _ in ended:
            self._policy.ended(request, replica, now)
        if replica.due < math.inf:
            self._plan(replica)
        self._set_at()
        return ended

    def _plan(self, replica: ServingReplica) -> None:
        self._planned += 1
        heapq.heappush(self._events, (replica.due, self._planned, replica.step, replica))

    def _set_at(self) -> None:
        events = self._events
        while events and events[0][2] != events[0][3].step:
            heapq.heappop(events)
        self.at = events[0][0] if events else math.inf
        if self._changes:
            self.at = min(self.at, self._changes[0].at)

    def _join(self, count: int) -> None:
        for _ in range(count):
            cache = cache_for(self._server, self._scale)
            replica = ServingReplica(len(self.all), self._server, cache)
            self.all.append(replica)
            self._taking.append(replica)

    def _change(self, change: Change) -> None:
        self._join(change.replicas)
        for _ in range(-change.replicas):
            self._policy.left(self._taking.pop().id)


def _check(replicas: int, changes: Sequence[Change]) -> None:
    """See to it that there is always a replica."""
    if replicas < 1:
        raise UsageError(f"there must be at least 1 replica, not {replicas}")
    for change in changes:
        replicas += change.replicas
        if replicas < 1:
            raise UsageError(f"no replica would be left {change.at:g} s from the start")


def _run(
    policy: str,
    seed: int,
    replicas: Sequence[ServingReplica],
    *,
    seconds: float,
    ttft: "array[float]",
    total: "array[float]",
) -> Run:
    return Run(
        policy=policy,
        seed=seed,
        requests=sum(replica.taken for replica in replicas),
        input_tokens=sum(replica.input_tokens for replica in replicas),
        reused_tokens=sum(replica.reused_tokens for replica in replicas),
        output_tokens=sum(replica.output_tokens for replica in replicas),
        blocks=sum(replica.blocks for replica in replicas),
        blocks_reused=sum(replica.blocks_reused for replica in replicas),
        seconds=seconds,
        ttft=ttft,
        total=total,
        busy=array("d", [replica.busy for replica in replicas]),
        taken=array("q", [replica.taken for replica in replicas]),
    )
