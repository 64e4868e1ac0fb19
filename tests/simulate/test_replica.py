from typing import NamedTuple

import simpy

from cachediag.simulate.caches.blocks import AllBlocks
from cachediag.simulate.model import Request, Server
from cachediag.simulate.replica import ServingReplica
from tests.simulate.prompts import request

SERVER = Server(prefill_rate=4, decode_rate=8, batch_rate=8, concurrency=2)


class Ended(NamedTuple):
    request: Request
    ttft: float
    total: float


def replica(server: Server = SERVER) -> tuple[simpy.Environment, ServingReplica]:
    env = simpy.Environment()
    return env, ServingReplica(env, 0, server, AllBlocks(4), lambda *_: None)


def play(
    *arriving: tuple[float, Request], server: Server = SERVER
) -> tuple[list[tuple[float, Ended]], ServingReplica]:
    """All that ends, with the time."""
    env, ends = simpy.Environment(), []

    def ended(one: ServingReplica, asked: Request, ttft: float, total: float) -> None:
        ends.append((env.now, Ended(asked, ttft, total)))

    def arrivals() -> simpy.events.ProcessGenerator:
        for at, asked in arriving:
            yield env.timeout(at - env.now)
            served.take(asked)

    served = ServingReplica(env, 0, server, AllBlocks(4), ended)
    env.process(arrivals())
    env.run()
    return ends, served


def test_a_prefill_holds_up_what_decodes() -> None:
    """Prefill of 4 tokens a second; 8 tokens a second for all that decode.

    | seconds | a: 4 + 9 tokens, from 0    | b: 4 + 5 tokens, from 1.5 |
    |---------|----------------------------|---------------------------|
    | 0–1     | prefilled: its first token |                           |
    | 1–1.5   | 4 more, 4 to go            |                           |
    | 1.5–2.5 | stands still               | prefilled, 4 to go        |
    | 2.5–3.5 | 4 a second: 4 more, ended  | 4 more, ended             |
    """
    a, b = request("1", output_tokens=9), request("2", output_tokens=5)
    ends, served = play((0.0, a), (1.5, b))
    assert ends == [
        (3.5, Ended(a, 1.0, 3.5)),
        (3.5, Ended(b, 1.0, 2.0)),
    ]
    assert served.busy == 3.5


def test_no_request_goes_faster_than_alone() -> None:
    """16 tokens a second for all, 4 for each: two do not slow each other down."""
    server = Server(prefill_rate=4, decode_rate=4, batch_rate=16)
    a, b = request("1", output_tokens=9), request("2", output_tokens=9)
    assert play((0.0, a), (0.5, b), server=server)[0] == [
        (4.0, Ended(a, 1.0, 4.0)),
        (4.0, Ended(b, 1.5, 3.5)),
    ]


def test_more_than_may_run_wait_first_come_first_served() -> None:
    """Two may run; 8 tokens a second for both.

    | seconds | a: 4 + 5 | b: 4 + 13         | c: 4 + 1  | d: 4 + 1   |
    |---------|----------|-------------------|-----------|------------|
    | 0–1     | prefill  | waits             | waits     | waits      |
    | 1–2     | stands   | prefill           | waits     | waits      |
    | 2–3     | 4, ended | 4, 8 to go        | waits     | waits      |
    | 3–4     |          | stands            | prefilled | waits      |
    | 4–5     |          | stands            |           | prefilled  |
    | 5–6     |          | 8, ended          |           |            |
    """
    a, b = request("1", output_tokens=5), request("2", output_tokens=13)
    c, d = request("3"), request("4")
    assert play((0.0, a), (0.0, b), (0.0, c), (0.0, d))[0] == [
        (3.0, Ended(a, 1.0, 3.0)),
        (4.0, Ended(c, 4.0, 4.0)),
        (5.0, Ended(d, 5.0, 5.0)),
        (6.0, Ended(b, 2.0, 6.0)),
    ]


def test_what_is_kept_is_not_prefilled() -> None:
    """12 tokens of 16 are kept of the first prompt and its reply, which takes a block."""
    a, b = request("12", kept="123"), request("1234")
    ends, served = play((0.0, a), (2.5, b))
    assert ends == [
        (2.0, Ended(a, 2.0, 2.0)),
        (3.5, Ended(b, 1.0, 1.0)),
    ]
    assert (served.reused_tokens, served.input_tokens) == (12, 24)
    assert (served.blocks_reused, served.blocks) == (3, 6)


def test_requests_of_no_output_end_with_their_prefill() -> None:
    none, one = request("1", output_tokens=0), request("2", output_tokens=1)
    assert play((0.0, none), (0.0, one))[0] == [
        (1.0, Ended(none, 1.0, 1.0)),
        (2.0, Ended(one, 2.0, 2.0)),
    ]


def test_a_prompt_of_nothing_takes_no_time() -> None:
    nothing = request("", output_tokens=0)
    ends, served = play((1.0, nothing))
    assert ends == [(1.0, Ended(nothing, 0.0, 0.0))]
    assert served.busy == 0


def test_a_router_sees_who_waits_and_for_how_many_tokens() -> None:
    """A prefill from 1 to 2 and, since all but a token is kept, one from 2 to 2.25; then both go on
    until 3.25."""
    env, served = replica()

    def seen() -> tuple[int, int, bool, int]:
        return served.outstanding, served.waiting, served.prefilling, served.tokens

    assert seen() == (0, 0, False, 0)
    env.run(until=1)
    for _ in range(2):
        served.take(request("1", output_tokens=5))
    assert seen() == (2, 1, True, 18)
    env.run(until=2.5)
    assert seen() == (2, 0, False, 18)
    env.run()
    assert env.now == 3.25
    assert seen() == (0, 0, False, 0)


def test_requests_that_come_at_once_begin_one_after_another() -> None:
    asked = [request(digit) for digit in "123"]
    ends, served = play(*((2.0, one) for one in asked))
    assert [ended.request for _, ended in ends] == asked
    assert [time for time, _ in ends] == [3.0, 4.0, 5.0]
    assert served.busy == 3.0


def test_idle_time_is_not_busy() -> None:
    _, served = play((0.0, request("1")), (5.0, request("2")), (6.5, request("3")))
    assert served.busy == 3.0
    assert served.taken == 3
