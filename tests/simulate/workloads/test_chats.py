"""Chats: every turn sends the talk again, to the block."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import UsageError
from cachediag.simulate.model import Request, Scale
from cachediag.simulate.workloads.amounts import Spread
from cachediag.simulate.workloads.chats import Chats
from tests.simulate.workloads.following import everything, head


def made(seed: int = 0, **values: Any) -> list[Request]:
    return list(everything(Chats(**{"rate": 1.0, **values}).workload(), seed))


def by_chat(requests: list[Request]) -> list[list[Request]]:
    chats: dict[str, list[Request]] = {}
    for request in requests:
        chats.setdefault(request.session, []).append(request)
    return list(chats.values())


def test_two_chats_to_the_block() -> None:
    """Blocks of 10 tokens, a system prompt of 15, then 10 asked and 7 answered, twice.

    Turn 1: 25 tokens, 31 of 32 fed. Turn 2: 42 tokens, 48 of 49 fed. Chat 0 has blocks 1 to 3 of
    its own and the open ones 4 and 5; chat 1 begins at 6.
    """
    found = made(
        chats=2, system_tokens=15, turns=2, user_tokens=10, reply_tokens=7, pause=3.0, block=10
    )
    one, other = by_chat(found)
    assert [(each.blocks, each.kept) for each in one] == [
        ((0, 1, 4), (0, 1, 2)),
        ((0, 1, 2, 3, 5), (0, 1, 2, 3)),
    ]
    assert [(each.blocks, each.kept) for each in other] == [
        ((0, 6, 9), (0, 6, 7)),
        ((0, 6, 7, 8, 10), (0, 6, 7, 8)),
    ]
    assert [(each.input_tokens, each.output_tokens, each.pause) for each in one] == [
        (25, 7, 3.0),
        (42, 7, 0.0),
    ]


_LENGTH = st.sampled_from([1, 8, Spread(least=1, most=30), Spread(mean=9, deviation=9)])


@given(
    chats=st.integers(1, 5),
    system_tokens=st.integers(0, 40),
    turns=st.sampled_from([1, 3, Spread(least=1, most=6)]),
    user_tokens=_LENGTH,
    reply_tokens=_LENGTH,
    block=st.integers(1, 16),
)
def test_a_turn_begins_with_all_before_it_and_shares_no_more(
    system_tokens: int, block: int, **values: Any
) -> None:
    found = made(system_tokens=system_tokens, block=block, **values)
    assert len(by_chat(found)) == values["chats"]
    for talk in by_chat(found):
        for one, following in pairwise(talk):
            sent = one.input_tokens + one.output_tokens
            assert following.input_tokens > sent
            assert head(following.blocks, one.blocks) == one.input_tokens // block
            assert one.kept is not None
            assert head(following.blocks, one.kept) == len(one.kept) == (sent - 1) // block
    for number, one in enumerate(found):
        assert len(one.blocks) == -(-one.input_tokens // block) == len(set(one.blocks))
        assert min(one.blocks) >= 0
        for other in found[:number]:
            if other.session != one.session:
                shared = {*one.blocks, *(one.kept or ())} & {*other.blocks, *(other.kept or ())}
                assert shared == set(range(system_tokens // block))
                assert head(one.blocks, other.blocks) == system_tokens // block


def test_a_seed_makes_the_same_chats_whoever_has_them() -> None:
    values = {"chats": 9, "turns": Spread(least=1, most=4), "user_tokens": Spread(least=1, most=99)}

    def sizes(seed: int, **load: Any) -> list[list[int]]:
        chats = by_chat(made(seed, **values, **load))
        return [[each.input_tokens for each in chat] for chat in chats]

    assert sizes(1) == sizes(1) == sizes(1, rate=7.0) != sizes(2)
    assert sorted(sizes(1)) == sorted(sizes(1, rate=None, clients=2))


def test_at_a_rate_only_the_first_turns_wait_for_none() -> None:
    plan = Chats(chats=2_000, rate=20, turns=2).workload()
    first = list(plan.requests(0))
    assert len(first) == 2_000
    assert first[-1].arrival == pytest.approx(100, rel=0.08)
    second = [each.then() for each in first if each.then is not None]
    assert len(second) == 2_000
    assert all(each.then is None for each in second)


@pytest.mark.parametrize(("chats", "clients"), [(7, 3), (3, 3), (1, 4)])
def test_where_a_chat_has_ended_the_next_begins(chats: int, clients: int) -> None:
    plan = Chats(chats=chats, clients=clients, turns=2, ramp=9.0).workload()
    going = min(chats, clients)
    first = list(plan.requests(0))
    assert [each.arrival for each in first] == [9.0 / going * number for number in range(going)]
    found = list(everything(plan))
    assert sorted(each.session for each in found) == sorted([*map(str, range(chats))] * 2)


def test_the_workload_says_what_it_is() -> None:
    plan = Chats(chats=1, rate=1, pause=Spread(least=1, most=5)).workload()
    assert (plan.name, plan.scale) == ("chats", Scale(16, 4.0))
    assert plan.assumed == (
        "chats of 5 turns behind one system prompt of 500 tokens",
        "a turn of 100 tokens, its reply of 200, a pause of 1 to 5 (even) seconds",
        "every reply comes back as it was generated",
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"chats": 0}, "chats must be 1 or more, not 0"),
        ({"system_tokens": -1}, "system_tokens must be 0 or more, not -1"),
        ({"block": 0}, "block must be 1 or more, not 0"),
        ({"characters": -2}, "characters must be above 0, not -2"),
        ({"rate": None}, "either a rate or a number of clients"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Chats(**{"chats": 1, "rate": 1.0, **values})
