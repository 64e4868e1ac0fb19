"""Requests that share a prefix: what they share to the block, how often, and when they come."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import UsageError
from cachediag.simulate.model import Request, Scale
from cachediag.simulate.workloads.amounts import Spread
from cachediag.simulate.workloads.shared_prefix import SharedPrefix
from tests.simulate.workloads.following import everything, head


def made(seed: int = 0, **values: Any) -> list[Request]:
    return list(everything(SharedPrefix(**{"rate": 10.0, **values}).workload(), seed))


def shape(request: Request) -> tuple[Any, ...]:
    return (request.session, request.blocks, request.kept, request.input_tokens)


def test_four_requests_to_the_block() -> None:
    """Blocks of 10 tokens, a prefix of 25, 12 behind it, 14 generated.

    37 tokens: two blocks of the prefix, the third begins in it and is each request's own, the
    fourth is not full. Of the 51 tokens 50 are fed, which fill five blocks.
    """
    found = made(
        requests=2,
        prefix_tokens=25,
        suffix_tokens=12,
        output_tokens=14,
        block=10,
        clients=1,
        rate=None,
    )
    assert [(each.blocks, each.kept) for each in found] == [
        ((0, 1, 2, 5), (0, 1, 2, 3, 4)),
        ((0, 1, 6, 9), (0, 1, 6, 7, 8)),
    ]
    assert [(each.input_tokens, each.output_tokens) for each in found] == [(37, 14)] * 2


@given(
    requests=st.integers(1, 40),
    prefix=st.integers(0, 70),
    prefixes=st.integers(1, 4),
    uses=st.sampled_from([None, 1, 3]),
    suffix=st.sampled_from([7, Spread(least=1, most=40)]),
    block=st.integers(1, 20),
)
def test_prompts_share_the_whole_blocks_of_their_prefix_and_no_more(
    *, requests: int, prefix: int, prefixes: int, uses: int | None, suffix: Any, block: int
) -> None:
    found = made(
        requests=requests,
        prefix_tokens=prefix,
        prefixes=prefixes,
        uses=uses,
        suffix_tokens=suffix,
        output_tokens=suffix,
        block=block,
    )
    whole = prefix // block
    for number, one in enumerate(found):
        assert len(one.blocks) == -(-one.input_tokens // block)
        assert one.kept is not None
        assert len(one.kept) == (one.input_tokens + one.output_tokens - 1) // block
        assert head(one.blocks, one.kept) == one.input_tokens // block
        for other in found[:number]:
            assert head(one.blocks, other.blocks) in (0, whole)
            assert head(one.blocks, other.kept or ()) in (0, whole)
            assert not set(one.blocks[whole:]) & {*other.blocks, *(other.kept or ())}
    if whole:
        times = Counter(each.blocks[0] for each in found)
        assert sum(times.values()) == requests
        assert uses is not None or len(times) <= prefixes
        assert uses is None or max(times.values()) <= uses


def test_a_hot_prefix_is_asked_for_as_often_as_its_exponent_says() -> None:
    even = Counter(each.blocks[0] for each in made(requests=9_000, prefixes=3))
    assert all(count == pytest.approx(3_000, rel=0.1) for count in even.values())
    hot = Counter(each.blocks[0] for each in made(requests=11_000, prefixes=3, zipf=1.0))
    # 1, 1/2 and 1/3 of 11/6.
    counts = [count for _, count in hot.most_common()]
    assert counts == [pytest.approx(each, rel=0.06) for each in (6_000, 3_000, 2_000)]


def test_a_seed_makes_the_same_and_another_does_not() -> None:
    values = {"requests": 20, "prefixes": 3, "suffix_tokens": Spread(least=1, most=900)}
    assert [shape(each) for each in made(1, **values)] == [
        shape(each) for each in made(1, **values)
    ]
    assert [shape(each) for each in made(1, **values)] != [
        shape(each) for each in made(2, **values)
    ]
    # The load changes nothing of what is asked.
    sizes = [each.input_tokens for each in made(1, **values)]
    assert sizes == [each.input_tokens for each in made(1, **{**values, "rate": 99.0})]
    loop = {**values, "rate": None, "clients": 4}
    assert sizes == [each.input_tokens for each in made(1, **loop)]


def test_at_a_rate_none_waits_for_another() -> None:
    found = made(requests=5_000, rate=50.0)
    assert all(each.then is None for each in found)
    assert all(a.arrival < b.arrival for a, b in pairwise(found))
    assert found[-1].arrival == pytest.approx(100, rel=0.06)


@pytest.mark.parametrize(("requests", "clients"), [(10, 3), (3, 3), (2, 5)])
def test_clients_send_all_requests_and_no_more(requests: int, clients: int) -> None:
    plan = SharedPrefix(requests=requests, clients=clients, ramp=6.0).workload()
    first = list(plan.requests(0))
    going = min(requests, clients)
    assert [each.arrival for each in first] == [6.0 / going * number for number in range(going)]
    assert {each.session for each in everything(plan)} == set(map(str, range(requests)))
    assert sum(1 for _ in everything(plan)) == requests
    assert all(each.pause == 0.0 for each in first)


def test_the_workload_says_what_it_is() -> None:
    plan = SharedPrefix(requests=1, rate=1, block=64, characters=3.5).workload()
    assert (plan.name, plan.scale) == ("shared-prefix", Scale(64, 3.5))
    assert plan.assumed[0] == "1 prefix of 8,000 tokens, liked by a Zipf exponent of 0"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"requests": 0}, "requests must be 1 or more, not 0"),
        ({"prefix_tokens": -1}, "prefix_tokens must be 0 or more, not -1"),
        ({"prefixes": 0}, "prefixes must be 1 or more, not 0"),
        ({"zipf": -0.5}, "zipf must be 0 or more, not -0.5"),
        ({"zipf": float("nan")}, "zipf must be 0 or more, not nan"),
        ({"block": 0}, "block must be 1 or more, not 0"),
        ({"characters": 0}, "characters must be above 0, not 0"),
        ({"clients": 2}, "either a rate or a number of clients"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        SharedPrefix(**{"requests": 1, "rate": 1.0, **values})
