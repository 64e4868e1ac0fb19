import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.errors import InputError, UsageError
from cachediag.simulate.loop import play
from cachediag.simulate.model import (
    Change,
    Policy,
    Replica,
    Request,
    Run,
    Scale,
    Server,
    Workload,
)
from tests.simulate.prompts import digits, request

SERVER = Server(prefill_rate=4, decode_rate=8, batch_rate=8, concurrency=2)


class ByName(Policy):
    """Sends a session to the replica of its number, and keeps what it was told and saw."""

    name = "by-name"

    def __init__(self) -> None:
        self.heard: list[tuple[str, str | int, float]] = []
        self.sent: dict[int, list[Request]] = defaultdict(list)
        self.seen: list[tuple[int, int, int]] = []
        self.clock: list[float] = []

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:
        chosen = replicas[int(request.session) % len(replicas)]
        self.heard.append((f"to {chosen.id}", request.session, now))
        self.sent[chosen.id].append(request)
        self.seen += [(one.outstanding, one.waiting, one.tokens) for one in replicas]
        self.clock.append(now)
        return chosen

    def ended(self, request: Request, replica: Replica, now: float) -> None:
        self.heard.append((f"end on {replica.id}", request.session, now))
        self.clock.append(now)

    def left(self, replica: int) -> None:
        self.heard.append(("left", replica, math.nan))


def workload(*requests: Request, block: int = 4) -> Workload:
    return Workload("made-up", Scale(block), lambda _: iter(requests))


def played(
    *requests: Request, server: Server = SERVER, replicas: int = 1, block: int = 4, **given
) -> tuple[Run, ByName]:
    policy = ByName()
    run = play(workload(*requests, block=block), server, policy, replicas=replicas, seed=3, **given)
    return run, policy


def test_a_run_says_what_became_of_its_requests() -> None:
    """Two replicas, prefill 4 tokens a second, decoding 8 a second.

    | request | arrives | replica | reused | prefilled | last token |
    |---------|---------|---------|--------|-----------|------------|
    | 12, +9  | 1       | 0       | 0      | 1–3       | 4 + 1 = 5  |
    | 12, +1  | 1.5     | 1       | 0      | 1.5–3.5   | 3.5        |
    | 123, +1 | 2       | 0       | 8      | 3–4       | 4          |
    | 123, +1 | 4.5     | 1       | 8      | 4.5–5.5   | 5.5        |

    The first one stands still while the third is prefilled, with 8 tokens to go.
    """
    run, policy = played(
        request("12", arrival=1.0, output_tokens=9),
        request("12", arrival=1.5, session="1"),
        request("123", arrival=2.0, session="2"),
        request("123", arrival=4.5, session="3"),
        replicas=2,
    )
    assert run == Run(
        policy="by-name",
        seed=3,
        requests=4,
        input_tokens=40,
        reused_tokens=16,
        output_tokens=12,
        blocks=10,
        blocks_reused=4,
        seconds=4.5,
        ttft=run.ttft,
        total=run.total,
        busy=run.busy,
        taken=run.taken,
    )
    assert list(run.ttft) == [2.0, 2.0, 2.0, 1.0]
    assert list(run.total) == [2.0, 2.0, 4.0, 1.0]
    assert list(run.busy) == [4.0, 3.0]
    assert list(run.taken) == [2, 2]
    assert policy.heard == [
        ("to 0", "0", 1.0),
        ("to 1", "1", 1.5),
        ("to 0", "2", 2.0),
        ("end on 1", "1", 3.5),
        ("end on 0", "2", 4.0),
        ("to 1", "3", 4.5),
        ("end on 0", "0", 5.0),
        ("end on 1", "3", 5.5),
    ]


def test_what_happens_at_one_time_happens_as_it_was_planned() -> None:
    """The end of the prefill at 1 is planned when it begins; then the next arrival is looked at."""
    _, policy = played(request("1"), request("1", arrival=1.0, session="1"))
    assert policy.heard[:3] == [("to 0", "0", 0.0), ("end on 0", "0", 1.0), ("to 0", "1", 1.0)]


def test_a_request_that_ends_when_another_comes_does_not_wait_for_it() -> None:
    """The first has its ninth token at 2, when the prefill of the second begins."""
    asked = request("1", output_tokens=9), request("2", arrival=2.0, session="1")
    run, _ = played(*asked)
    assert list(run.total) == [2.0, 1.0]


def test_a_client_waits_for_its_answer_and_then_a_while() -> None:
    """A prefill of 1 s, a pause of 0.5 s, another of 1 s, no pause, and one that was sent early."""
    third = request("3", session="third", arrival=99.0)
    second = request("2", session="2", then=lambda: replace(third, session="4"))
    first = request("1", pause=0.5, then=lambda: second)
    run, policy = played(first, request("5", arrival=9.0, session="6"))
    assert [heard for heard in policy.heard if heard[0].startswith("to")] == [
        ("to 0", "0", 0.0),
        ("to 0", "2", 1.5),
        ("to 0", "4", 2.5),
        ("to 0", "6", 9.0),
    ]
    assert list(run.ttft) == [1.0] * 4
    assert list(run.busy) == [4.0]
    assert run.seconds == 10.0


def test_no_more_requests_are_sent_than_the_limit() -> None:
    made = []

    def following() -> Request:
        made.append(1)
        return request("1", session="2", then=following)

    endless = request("1", then=following)
    run, _ = played(endless, limit=3)
    assert run.requests == len(run.total) == 3
    assert len(made) == 2
    assert played(endless, limit=0)[0].requests == 0


def test_replicas_join_and_leave_and_end_what_they_were_sent() -> None:
    """Prefills of 1 s. The second replica leaves at 1 with one in hand and one that waits.

    | arrives | session | takes requests | sent to | ends |
    |---------|---------|----------------|---------|------|
    | 0       | 1       | 0, 1           | 1       | 1    |
    | 0.25    | 3       | 0, 1           | 1       | 2    |
    | 0.5     | 5       | 0, 1           | 1       | 3    |
    | 1.25    | 7       | 0              | 0       | 2.25 |
    | 2.5     | 9       | 0, 2           | 2       | 3.5  |
    """
    asked = [
        request(str(number), arrival=arrival, session=str(session))
        for number, (arrival, session) in enumerate(
            [(0.0, 1), (0.25, 3), (0.5, 5), (1.25, 7), (2.5, 9)], 1
        )
    ]
    run, policy = played(*asked, replicas=2, changes=[Change(2.5, 1), Change(1.0, -1)])
    assert [heard[:2] for heard in policy.heard] == [
        ("to 1", "1"),
        ("to 1", "3"),
        ("to 1", "5"),
        ("end on 1", "1"),
        ("left", 1),
        ("to 0", "7"),
        ("end on 1", "3"),
        ("end on 0", "7"),
        ("to 2", "9"),
        ("end on 1", "5"),
        ("end on 2", "9"),
    ]
    assert list(run.taken) == [1, 3, 1]
    assert list(run.busy) == [1.0, 3.0, 1.0]


def test_those_leave_first_that_joined_last() -> None:
    asked = [request("1", arrival=float(at), session="0") for at in (0, 9)]
    _, policy = played(*asked, replicas=2, changes=[Change(1.0, 2), Change(2.0, -3)])
    assert [who for what, who, _ in policy.heard if what == "left"] == [3, 2, 1]


def test_changes_after_the_last_arrival_are_not_played() -> None:
    run, _ = played(request("1"), changes=[Change(0.5, 3)])
    assert len(run.busy) == 1
    assert run.seconds == 1.0


@pytest.mark.parametrize(
    ("replicas", "changes", "message"),
    [
        (0, [], "there must be at least 1 replica, not 0"),
        (2, [Change(30.0, -2), Change(10.0, 1), Change(40.0, -1)], "would be left 40 s from"),
    ],
)
def test_a_fleet_of_no_replica_is_refused(replicas, changes, message) -> None:
    with pytest.raises(UsageError, match=message):
        played(request("1"), replicas=replicas, changes=changes)


def test_requests_out_of_order_are_refused() -> None:
    with pytest.raises(InputError, match="requests are not in the order of their arrival") as told:
        played(request("1", arrival=2.0), request("1", arrival=1.0))
    assert told.value.where == "made-up"


def test_an_error_in_the_middle_of_a_run_says_what_to_do() -> None:
    server = replace(SERVER, engine="vllm")
    with pytest.raises(UsageError, match="vllm cannot be asked") as told:
        played(request("1", arrival=2.0), server=server)
    assert told.value.remedy == "Leave the engine out: replicas then keep blocks."


def test_a_latency_is_in_both_times_and_keeps_no_replica_busy() -> None:
    """A prefill of 1 s and 0.5 s more; the next one is sent a second after the answer is there."""
    following = request("2", output_tokens=9)
    first = request("1", pause=1.0, then=lambda: following)
    run, policy = played(first, server=replace(SERVER, latency=0.5))
    assert policy.heard[2] == ("to 0", "0", 2.5)
    assert list(run.ttft) == [1.5, 1.5]
    assert list(run.total) == [1.5, 2.5]
    assert list(run.busy) == [3.0]
    assert run.seconds == 5.0


def test_a_workload_of_nothing_takes_no_time() -> None:
    run, _ = played()
    assert (run.requests, run.seconds, list(run.busy)) == (0, 0.0, [0.0])


def test_the_seed_is_given_to_the_workload_and_to_the_policy() -> None:
    given: list[object] = []

    class Told(ByName):
        def prepare(self, scale: Scale, seed: int) -> None:
            given.extend((scale, seed))

    def requests(seed: int) -> Iterator[Request]:
        given.append(seed)
        yield request("1")

    run = play(Workload("w", Scale(4), requests), SERVER, Told(), replicas=1, seed=11)
    assert given == [Scale(4), 11, 11]
    assert run.seed == 11


# Against a fleet that is played in the plainest way: all of it looked at for each step, each
# request with the tokens it has left.


@dataclass(eq=False)
class Client:
    request: Request
    arrival: float
    first: float = math.nan
    end: float = math.nan
    prefill: float = math.nan
    """Seconds that are left of it."""
    left: float = math.nan
    """Tokens."""


def naive(asked: Sequence[Request], server: Server, replicas: int, block: int) -> list[Client]:
    clients = [Client(one, one.arrival) for one in asked]
    queues: list[list[Client]] = [[] for _ in range(replicas)]
    prefills: list[list[Client]] = [[] for _ in range(replicas)]
    decodes: list[list[Client]] = [[] for _ in range(replicas)]
    seen: list[set[int]] = [set() for _ in range(replicas)]
    arriving, now = list(clients), 0.0

    def pace(running: list[Client]) -> float:
        return min(server.decode_rate, server.batch_rate / len(running))

    while arriving or any(queues) or any(prefills) or any(decodes):
        steps = [one.arrival - now for one in arriving]
        for prefill, decode in zip(prefills, decodes, strict=True):
            steps += [one.prefill for one in prefill]
            steps += [one.left / pace(decode) for one in decode if not prefill]
        step = min(steps)
        now += step
        for at in range(replicas):
            if prefills[at]:
                prefills[at][0].prefill -= step
            elif decodes[at]:
                gain = step * pace(decodes[at])
                for one in decodes[at]:
                    one.left -= gain
            for one in [one for one in prefills[at] if one.prefill < 1e-9]:
                prefills[at].remove(one)
                one.first = now
                one.left = max(one.request.output_tokens - 1, 0)
                decodes[at].append(one)
            for one in [one for one in decodes[at] if one.left < 1e-9]:
                decodes[at].remove(one)
                one.end = now
                seen[at] |= {*(one.request.kept or ())}
        for one in [one for one in arriving if one.arrival <= now + 1e-12]:
            arriving.remove(one)
            queues[int(one.request.session) % replicas].append(one)
        for at in range(replicas):
            if queues[at] and not prefills[at] and len(decodes[at]) < server.concurrency:
                one = queues[at].pop(0)
                hits = sum(key in seen[at] for key in one.request.blocks)
                reused = max(0, min(hits * block, one.request.input_tokens - 1))
                one.prefill = (one.request.input_tokens - reused) / server.prefill_rate
                seen[at] |= {*one.request.blocks}
                prefills[at].append(one)
    return clients


@dataclass(frozen=True)
class Fleet:
    requests: tuple[Request, ...]
    server: Server
    replicas: int


@st.composite
def fleets(draw: st.DrawFn) -> Fleet:
    prompts = draw(st.lists(digits, min_size=1, max_size=25))
    # Drawn times would often be the same, where the order is a matter of rounding.
    chance = random.Random(draw(st.integers(0, 10**6)))
    arrivals = sorted(chance.uniform(0, 20) for _ in prompts)
    requests = tuple(
        request(
            prompt,
            arrival=arrival,
            session=str(chance.randrange(6)),
            input_tokens=max(0, 4 * len(prompt) - chance.randrange(4)),
            output_tokens=chance.randrange(12),
            kept=chance.choice((None, prompt + "9")),
        )
        for prompt, arrival in zip(prompts, arrivals, strict=True)
    )
    server = Server(
        prefill_rate=chance.uniform(2, 40),
        decode_rate=chance.uniform(1, 10),
        batch_rate=chance.uniform(2, 20),
        concurrency=chance.choice((1, 2, 3, 100)),
    )
    return Fleet(requests, server, chance.randint(1, 3))


@given(fleets())
@settings(deadline=None)
def test_it_is_what_a_fleet_does_that_is_played_in_the_plainest_way(fleet: Fleet) -> None:
    run, _ = played(*fleet.requests, server=fleet.server, replicas=fleet.replicas)
    clients = naive(fleet.requests, fleet.server, fleet.replicas, 4)
    assert sorted(run.ttft) == pytest.approx(sorted(one.first - one.arrival for one in clients))
    assert sorted(run.total) == pytest.approx(sorted(one.end - one.arrival for one in clients))
    assert run.seconds == pytest.approx(
        max(one.end for one in clients) - min(one.arrival for one in clients)
    )


@given(fleets(), st.none() | st.integers(0, 60))
@settings(deadline=None)
def test_nothing_is_lost_and_nothing_counted_twice(fleet: Fleet, capacity: int | None) -> None:
    server = replace(fleet.server, capacity=capacity)
    run, policy = played(*fleet.requests, server=server, replicas=fleet.replicas)
    sent = len(fleet.requests)
    assert run.requests == sum(run.taken) == len(run.ttft) == len(run.total) == sent
    ends = Counter(who for what, who, _ in policy.heard if what.startswith("end"))
    assert ends == Counter(one.session for one in fleet.requests)
    assert run.input_tokens == sum(one.input_tokens for one in fleet.requests)
    assert run.output_tokens == sum(one.output_tokens for one in fleet.requests)
    assert 0 <= run.reused_tokens <= run.input_tokens
    assert 0 <= run.blocks_reused <= run.blocks == sum(len(one.blocks) for one in fleet.requests)
    assert all(0 <= first <= last for first, last in zip(run.ttft, run.total, strict=True))
    assert all(0 <= busy <= run.seconds * (1 + 1e-9) for busy in run.busy)
    assert all(0 <= waiting <= outstanding for outstanding, waiting, _ in policy.seen)
    assert all(tokens >= 0 for *_, tokens in policy.seen)
    assert policy.clock == sorted(policy.clock)


@given(fleets())
@settings(deadline=None)
def test_each_replica_serves_first_come_first_served(fleet: Fleet) -> None:
    """With one output token each, requests end in the order in which a replica was sent them."""
    asked = [replace(one, output_tokens=1) for one in fleet.requests]
    _, policy = played(*asked, server=fleet.server, replicas=fleet.replicas)
    for replica, sent in policy.sent.items():
        ended = [who for what, who, _ in policy.heard if what == f"end on {replica}"]
        assert ended == [one.session for one in sent]


@given(st.lists(digits, max_size=30))
def test_without_a_limit_a_block_is_reused_that_an_earlier_prompt_had(prompts) -> None:
    run, _ = played(*(request(prompt, block=1) for prompt in prompts), block=1)
    seen: set[str] = set()
    reused = 0
    for prompt in prompts:
        heads = {prompt[:end] for end in range(1, len(prompt) + 1)}
        reused += len(heads & seen)
        seen |= heads
    assert run.blocks_reused == reused


@given(fleets())
@settings(deadline=None, max_examples=20)
def test_the_same_run_again_is_the_same(fleet: Fleet) -> None:
    runs = [played(*fleet.requests, server=fleet.server, replicas=2)[0] for _ in range(2)]
    assert runs[0] == runs[1]
