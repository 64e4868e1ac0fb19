"""Recorded sessions: lanes, times and replies, and the same reuse as the analysis finds."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from cachediag.analysis.analyze import analyse
from cachediag.analysis.choice import Choice, choose
from cachediag.errors import InputError, UsageError
from cachediag.model import Exchange, Usage
from cachediag.session.source import MemorySource, numbered
from cachediag.simulate.model import Request
from cachediag.simulate.workloads import mooncake, recorded
from cachediag.simulate.workloads.arrivals import Arrivals, poisson
from tests.analysis.replies import ANSWER, ASK, MORE, RULES, chat, exchange, said
from tests.simulate.workloads.following import everything, head
from tests.verify.sessions import session as claude_session

THIRD = {"role": "user", "content": "And the day after?"}
OTHER = {"role": "user", "content": "Who keeps the papers of the harbour?"}
CLERK = "\n".join(f"Line {number}: you keep the register of ships." for number in range(30))


def choice(**specs: str) -> Choice:
    given = {"profile_spec": "generic", "model_spec": "qwen2.5", "engine_spec": "vllm", **specs}
    return choose("chat", **given)


def at(made: Exchange, started: float | None, ended: float | None, **more: Any) -> Exchange:
    return replace(made, info=replace(made.info, started=started, ended=ended, **more))


def talk(name: str = "harbour", start: float = 1_700_000_000.0) -> MemorySource:
    """Two lanes: one asks three times, another once in between; recorded as they ended."""
    turns = [
        at(exchange(0, chat(ASK), ANSWER), start, start + 2),
        at(exchange(1, chat(ASK, said(ANSWER), MORE), ANSWER), start + 5, start + 9),
        at(exchange(2, chat(OTHER, rules=CLERK), ANSWER), start + 3, start + 12),
        at(
            exchange(3, chat(ASK, said(ANSWER), MORE, said(ANSWER), THIRD), None),
            *(start + 10, start + 11),
        ),
    ]
    return numbered(name, turns)


def rows(requests: Sequence[Request]) -> list[tuple[str, float]]:
    return [(each.session, each.arrival) for each in requests]


def test_requests_come_at_their_times_in_the_order_of_them() -> None:
    made = recorded.workload(talk(), choice())
    found = list(made.requests(0))
    assert rows(found) == [("main", 0.0), ("main-2", 3.0), ("main", 5.0), ("main", 10.0)]
    assert made.name == "harbour"
    assert made.scale.block == 16
    assert 3 < made.scale.characters < 6
    assert all(each.then is None and each.pause == 0.0 for each in found)
    faster = recorded.workload(talk(), choice(), arrivals=Arrivals(speed=2))
    assert [each.arrival for each in faster.requests(0)] == [0.0, 1.5, 2.5, 5.0]
    at_a_rate = recorded.workload(talk(), choice(), arrivals=Arrivals(rate=3))
    times = poisson(3, 8)
    assert rows(list(at_a_rate.requests(8))) == [
        (name, next(times)) for name in ("main", "main-2", "main", "main")
    ]


def test_in_a_closed_loop_a_lane_waits_for_its_own_replies() -> None:
    made = recorded.workload(talk(), choice(), closed=True)
    first = list(made.requests(0))
    assert rows(first) == [("main", 0.0), ("main-2", 3.0)]
    main = [each for each in everything(made) if each.session == "main"]
    # From 2 s to 5 s, and from 9 s to 10 s.
    assert [each.pause for each in main] == [3.0, 1.0, 0.0]
    assert [each.input_tokens for each in main] == sorted(each.input_tokens for each in main)
    faster = recorded.workload(talk(), choice(), closed=True, arrivals=Arrivals(speed=2))
    assert [each.arrival for each in faster.requests(0)] == [0.0, 1.5]
    assert [each.pause for each in everything(faster) if each.session == "main"] == [1.5, 0.5, 0.0]
    with pytest.raises(UsageError, match="requests that wait for the end of others"):
        mooncake.write(made, "nowhere")


def test_prompts_are_chained_blocks_and_a_reply_is_kept() -> None:
    one, _, two, three = recorded.workload(talk(), choice()).requests(0)
    for each in (one, two, three):
        assert len(each.blocks) == -(-each.input_tokens // 16)
        assert all(0 <= key < 2**63 for key in each.blocks)
    assert one.kept is not None
    assert head(one.kept, one.blocks) == one.input_tokens // 16
    assert head(two.blocks, one.kept) == len(one.kept) > one.input_tokens // 16
    assert three.kept is None
    assert one.asked is not None
    assert one.asked.reply is not None
    assert one.output_tokens == len(one.asked.reply) - one.input_tokens
    assert len(one.kept) == (one.input_tokens + one.output_tokens - 1) // 16


def test_tokens_of_a_reply_are_those_reported_else_counted_else_those_of_the_others() -> None:
    turns = [
        at(exchange(0, chat(ASK), ANSWER), 0, 1, usage=Usage(output_tokens=77)),
        at(exchange(1, chat(OTHER, rules=CLERK), None), 2, 3, usage=Usage(output_tokens=30)),
        at(exchange(2, chat(MORE), None), 4, 5),
    ]
    made = recorded.workload(numbered("harbour", turns), choice())
    assert [each.output_tokens for each in made.requests(0)] == [77, 30, 54]
    assert made.assumed == (
        "requests arrive at their times, whether or not those before them have ended",
        "tokens are an estimate",
        "1 of 3 requests have no recorded reply, and are taken to generate 54 tokens",
    )
    none = recorded.workload(numbered("harbour", turns[2:]), choice())
    assert [each.output_tokens for each in none.requests(0)] == [256]


def test_several_sessions_begin_at_once_and_share_what_they_share() -> None:
    sources = [talk("one", 50.0), talk("two", 9_000.0)]
    made = recorded.workload(sources, choice())
    found = list(made.requests(0))
    assert made.name == "2 sessions"
    assert [each.arrival for each in found] == [0.0, 0.0, 3.0, 3.0, 5.0, 5.0, 10.0, 10.0]
    assert [each.session for each in found[:4]] == [
        *("1:one/main", "2:two/main"),
        *("1:one/main-2", "2:two/main-2"),
    ]
    assert found[0].blocks == found[1].blocks
    assert found[0].heads is found[1].heads
    assert [each.asked.index for each in found if each.asked] == [0, 4, 2, 6, 1, 5, 3, 7]
    assert [each.asked.lane for each in found if each.asked] == [each.session for each in found]
    assert made.assumed[0] == "all sessions begin at once"


WAITS = "whether or not those before them have ended"
EACH = "a request is sent when the one before it in its lane has ended, after its pause"


@pytest.mark.parametrize(
    ("when", "closed", "said"),
    [
        (Arrivals(), False, [f"requests arrive at their times, {WAITS}"]),
        (Arrivals(speed=5), False, [f"requests arrive at their times, divided by 5, {WAITS}"]),
        (
            Arrivals(rate=0.2),
            False,
            [f"requests arrive at random, 0.2 a second, in the order recorded, {WAITS}"],
        ),
        (Arrivals(), True, ["the first request of each lane arrives at its time", EACH]),
        (
            Arrivals(speed=5),
            True,
            [
                "the first request of each lane arrives at its time, divided by 5",
                f"{EACH}, divided by 5",
            ],
        ),
        (
            Arrivals(rate=3),
            True,
            [
                "the first request of each lane arrives at random, 3 a second, in the order"
                " recorded",
                EACH,
            ],
        ),
    ],
)
def test_it_says_when_requests_come(when: Arrivals, closed: bool, said: list[str]) -> None:
    made = recorded.workload(talk(), choice(), arrivals=when, closed=closed)
    assert list(made.assumed[: len(said)]) == said


@pytest.mark.parametrize(("profile", "exact"), [("vllm-mlx@0.6.0", True), ("anthropic", False)])
def test_it_says_whether_its_tokens_are_an_estimate(profile: str, exact: bool) -> None:
    by = choose("messages", profile_spec=profile, model_spec="qwen2.5")
    made = recorded.workload(claude_session(), by, arrivals=Arrivals(rate=1))
    assert made.exact is exact
    assert ("tokens are an estimate" in made.assumed) is not exact


def test_blocks_are_the_same_in_another_encoder() -> None:
    one, other = (
        [each.blocks for each in recorded.workload(talk(), choice()).requests(0)] for _ in range(2)
    )
    assert one == other
    larger = list(recorded.workload(talk(), choice(), block=64).requests(0))
    assert [len(each.blocks) for each in larger] == [-(-len(blocks) // 4) for blocks in one]


def test_a_router_sees_the_bodies_and_what_was_said() -> None:
    _, other, two, three = (each.heads for each in recorded.workload(talk(), choice()).requests(0))
    assert two is not None
    assert three is not None
    assert other is not None
    length = len(RULES + "Which berths are free?" + ANSWER + "And tomorrow?")
    assert two.key("characters", length) == three.key("characters", length)
    assert two.key("characters", length + 1) != three.key("characters", length + 1)
    body = json.dumps(chat(ASK)).encode()
    opening = body.index(ASK["content"].encode())
    assert two.key("bytes", opening) == three.key("bytes", opening)
    assert two.key("bytes", opening) != other.key("bytes", opening)


def test_what_no_server_prefilled_is_left_out() -> None:
    turns = [
        at(exchange(0, chat(ASK), None), 0, 1, status=529),
        at(exchange(1, chat(ASK), ANSWER), 2, 3, status=200),
        at(replace(exchange(2, chat(ASK), ANSWER), request=b"{"), 4, 5),
        at(exchange(3, chat(ASK), None), 4, 5, endpoint="other"),
        at(exchange(4, chat(ASK), None), 4, 5, endpoint="count_tokens"),
    ]
    made = recorded.workload(numbered("harbour", turns), choice())
    assert len(list(made.requests(0))) == 1
    assert made.assumed[2] == ("2 requests are left out: refused by the server, or not to be read")
    with pytest.raises(InputError, match="harbour: no request was recorded that a server took"):
        recorded.workload(numbered("harbour", turns[3:]), choice())


def test_without_times_there_must_be_a_rate() -> None:
    source = claude_session()
    by = choose("messages", profile_spec="vllm-mlx@0.3.0:strip=off", model_spec="qwen2.5")
    with pytest.raises(InputError, match="harbour: its requests have no times") as raised:
        recorded.workload(source, by, closed=True)
    assert raised.value.remedy == "Let them come at a rate: --rate REQUESTS_A_SECOND"
    made = recorded.workload(source, by, arrivals=Arrivals(rate=1))
    sizes = [each.input_tokens for each in made.requests(0)]
    assert sizes == sorted(sizes)
    with pytest.raises(UsageError, match="block must be 1 or more, not 0"):
        recorded.workload(source, by, block=0)


@pytest.mark.parametrize(
    ("source", "by"),
    [
        (talk(), choice()),
        (
            claude_session(),
            choose("messages", profile_spec="vllm-mlx@0.3.0:strip=off", model_spec="qwen2.5"),
        ),
        (claude_session(), choose("messages", profile_spec="anthropic")),
        (claude_session(), choose("messages", profile_spec="vllm", model_spec="qwen2.5")),
    ],
    ids=["chat", "vllm-mlx", "hosted", "vllm"],
)
def test_blocks_are_found_again_as_vllms_model_finds_them(source: MemorySource, by: Choice) -> None:
    made = recorded.workload(source, by, arrivals=Arrivals(rate=1))
    found = sorted(made.requests(0), key=lambda each: each.asked.index if each.asked else 0)
    kept: set[int] = set()
    reused = []
    for each in found:
        whole = each.blocks[: (each.input_tokens - 1) // 16]
        reused.append(16 * next((n for n, key in enumerate(whole) if key not in kept), len(whole)))
        kept.update(each.blocks[: each.input_tokens // 16], each.kept or ())
    expected = analyse(untimed(source), source.exchange, by.anew("vllm"))
    assert reused == [each.reused_tokens for each in expected]
    assert max(reused) > 0


def untimed(source: MemorySource) -> list[Exchange]:
    """The exchanges as if each had ended before the next began."""
    return [at(each, None, None) for each in source.exchanges()]


def test_a_hosted_model_shares_nothing_with_another() -> None:
    (first, *_), (info, body) = claude_session().items, ("recorded", "another")
    turns = [
        at(first, 0, 1, model=info),
        at(first, 2, 3, model=body),
        at(first, 4, 5, model=info),
    ]
    source = numbered("harbour", turns)
    hosted = recorded.workload(source, choose("messages"))
    one, two, three = hosted.requests(0)
    assert head(one.blocks, two.blocks) == 0
    assert one.blocks == three.blocks
    assert one.asked is not None
    assert len(one.asked.blocks) == 4
    own = choose("messages", profile_spec="vllm", model_spec="qwen2.5")
    one, two, _ = recorded.workload(source, own).requests(0)
    assert one.blocks == two.blocks
