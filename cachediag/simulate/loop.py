"""A workload played over a fleet of replicas, event by event.

What happens at one time happens in the order in which it was planned. A prompt's first token is
there when its prefill ends; the others are decoded, so a request of one token ends there.
"""

from array import array
from collections.abc import Iterator, Sequence

import simpy

from cachediag.errors import InputError, UsageError
from cachediag.simulate.caches import cache_for
from cachediag.simulate.model import Change, Policy, Request, Run, Server, Workload
from cachediag.simulate.replica import ServingReplica

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
        changes: when replicas join or leave; each is made before the next request is sent.
        limit: send so many requests at most.

    Raises:
        UsageError: no replica would be left, or the server's engine cannot be asked.
        InputError: the workload's requests are not in the order of their arrival.
    """
    _check(replicas, changes)
    policy.prepare(workload.scale, seed)
    played = _Played(workload, server, policy, changes, limit)
    played.join(replicas)
    played.run(seed)
    return played.outcome(seed)


def _check(replicas: int, changes: Sequence[Change]) -> None:
    """See to it that there is always a replica."""
    if replicas < 1:
        raise UsageError(f"there must be at least 1 replica, not {replicas}")
    for change in _ordered(changes):
        replicas += change.replicas
        if replicas < 1:
            raise UsageError(f"no replica would be left {change.at:g} s from the start")


def _ordered(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: change.at)


class _Played:
    """A fleet, the requests on their way to it, and what became of those that it served."""

    def __init__(
        self,
        workload: Workload,
        server: Server,
        policy: Policy,
        changes: Sequence[Change],
        limit: int | None,
    ) -> None:
        self._env = simpy.Environment()
        self._workload, self._server, self._policy = workload, server, policy
        self._changes = _ordered(changes)
        self._limit = limit
        self._all: list[ServingReplica] = []
        """By their ids."""
        self._taking: list[ServingReplica] = []
        """Those that take requests, in the order of joining."""
        self._requests: Iterator[Request] = iter(())
        self._sent = 0
        self._first = 0.0
        self._last = 0.0
        """When the first request arrived, and when the last answer was there."""
        self._ttft, self._total = array("d"), array("d")

    def join(self, count: int) -> None:
        """Have more replicas."""
        for _ in range(count):
            cache = cache_for(self._server, self._workload.scale)
            replica = ServingReplica(self._env, len(self._all), self._server, cache, self._ended)
            self._all.append(replica)
            self._taking.append(replica)

    def run(self, seed: int) -> None:
        """Send all requests and wait for their ends."""
        self._requests = self._workload.requests(seed)
        self._await_next(0.0)
        self._env.run()

    def _await_next(self, before: float) -> None:
        """Have the next request sent that waits for no other.

        Args:
            before: when the one before it arrived.
        """
        request = None if self._is_full() else next(self._requests, None)
        if request is None:
            return
        if request.arrival < before:
            raise InputError(
                "requests are not in the order of their arrival", where=self._workload.name
            )
        arrival = self._env.timeout(max(0.0, request.arrival - self._env.now))
        arrival.callbacks.append(lambda _: self._arrived(request))

    def _arrived(self, request: Request) -> None:
        self._send(request)
        self._await_next(request.arrival)

    def _is_full(self) -> bool:
        return self._limit is not None and self._sent >= self._limit

    def _send(self, request: Request) -> None:
        if self._is_full():
            return
        now = self._env.now
        if not self._sent:
            self._first = now
        self._sent += 1
        while self._changes and self._changes[0].at <= now:
            self._change(self._changes.pop(0))
        replica = self._policy.choose(request, self._taking, now)
        assert isinstance(replica, ServingReplica)
        replica.take(request)

    def _change(self, change: Change) -> None:
        self.join(change.replicas)
        for _ in range(-change.replicas):
            self._policy.left(self._taking.pop().id)

    def _ended(self, replica: ServingReplica, request: Request, ttft: float, total: float) -> None:
        late = self._server.latency
        self._last = self._env.now + late
        self._ttft.append(ttft + late)
        self._total.append(total + late)
        self._policy.ended(request, replica, self._env.now)
        if request.then is not None and not self._is_full():
            following = request.then()
            pause = self._env.timeout(late + request.pause)
            pause.callbacks.append(lambda _: self._send(following))

    def outcome(self, seed: int) -> Run:
        """What became of it all."""
        replicas = self._all
        return Run(
            policy=self._policy.name,
            seed=seed,
            requests=self._sent,
            input_tokens=sum(replica.input_tokens for replica in replicas),
            reused_tokens=sum(replica.reused_tokens for replica in replicas),
            output_tokens=sum(replica.output_tokens for replica in replicas),
            blocks=sum(replica.blocks for replica in replicas),
            blocks_reused=sum(replica.blocks_reused for replica in replicas),
            seconds=self._last - self._first,
            ttft=self._ttft,
            total=self._total,
            busy=array("d", [replica.busy for replica in replicas]),
            taken=array("q", [replica.taken for replica in replicas]),
        )
