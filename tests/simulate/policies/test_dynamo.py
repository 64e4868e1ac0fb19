import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.errors import UsageError
from cachediag.simulate.model import Request, Scale
from cachediag.simulate.policies import policy
from cachediag.simulate.policies.dynamo import Dynamo
from tests.simulate.fleet import FakeCache, fleet
from tests.simulate.prompts import chained, digits, request


def prepared(spec: str = "dynamo") -> Dynamo:
    chooser = policy(spec)
    assert isinstance(chooser, Dynamo)
    chooser.prepare(Scale(block=4), 0)
    return chooser


def caches(*prompts: str) -> list[FakeCache]:
    return [FakeCache(chained(each)) for each in prompts]


def test_the_lowest_cost_of_prefill_and_decode() -> None:
    """Two replicas, weight 1; the cache of 1 holds 12, that of 0 nothing. All in blocks.

    | request | prompt | to prefill at 0, 1 | uncached | active, with it | cost | chosen |
    |---|---|---|---|---|---|---|
    | 1 | 1234 | 0 0 | 4 2 | 4 4 | 8 6 | 1 |
    | 2 | 1256 | 0 2: request 1 waits | 4 2 | 4 6 | 8 10 | 0 |
    | 3 | 1256 | 4 0: request 2 is in prefill, 1 had its own | 4 2 | 4 6 | 12 8 | 1 |
    | 4 | 78 | 0 2: request 3 waits | 2 2 | 6 8 | 8 12 | 0 |
    | (request 1 ends, then 3) | | | | | | |
    | 5 | 1278 | 0 0 | 4 2 | 8 4 | 12 6 | 1 |
    | 6 | 12 | 2 2: 4 and 5 wait | 2 0 | 6 4 | 10 6 | 1 |
    """
    chooser = prepared()
    caches_ = caches("", "12")
    sent: list[Request] = []
    chosen = []

    def choose(prompt: str, waiting: tuple[int, int], prefilling: tuple[bool, bool]) -> None:
        replicas = fleet("01", waiting=waiting, prefilling=prefilling, cache=caches_)
        sent.append(request(prompt))
        chosen.append(chooser.choose(sent[-1], replicas, 0.0).id)

    choose("1234", (0, 0), (False, False))
    choose("1256", (0, 1), (False, False))
    choose("1256", (0, 0), (True, False))
    choose("78", (0, 1), (False, False))
    for ended in (sent[0], sent[2]):
        chooser.ended(ended, fleet("01")[1], 0.0)
    choose("1278", (0, 0), (False, False))
    choose("12", (1, 1), (False, False))
    assert chosen == [1, 0, 1, 0, 1, 1]


def test_the_weight_says_what_a_block_to_prefill_costs() -> None:
    """Replica 1 holds the prompt, and runs another of two blocks.

    | weight | prefill at 0, 1 | decode | cost | chosen |
    |---|---|---|---|---|
    | 1 | 4 0 | 4 6 | 8 6 | 1 |
    | 0.25 | 4 0 | 4 6 | 5 6 | 0 |
    """
    for weight, expected in ((1, 1), (0.25, 0)):
        chooser = prepared(f"dynamo:kv_overlap_score_weight={weight}")
        assert chooser.choose(request("99"), fleet("1"), 0.0).id == 1
        replicas = fleet("01", cache=caches("", "1234"))
        assert chooser.choose(request("1234"), replicas, 0.0).id == expected


def test_equal_costs_are_broken_at_random() -> None:
    """Seed 0 draws 0.844 of three; then 0 and 1 are equal, 2 has a block more, and 0.758 of two."""
    chooser = prepared()
    assert chooser.choose(request("1"), fleet(), 0.0).id == 2
    assert chooser.choose(request("2"), fleet(), 0.0).id == 1


def test_with_a_temperature_the_choice_follows_the_costs() -> None:
    """Costs 8 and 6 are 2 apart: at temperature 1, exp(-1) against exp(0), 0.269 against 0.731.

    Seed 0 draws 0.844, 0.758, 0.421, 0.259: below 0.269 the first is chosen.
    """
    chooser = prepared("dynamo:router_temperature=1")
    assert [chooser._pick([8.0, 6.0]) for _ in range(4)] == [1, 1, 1, 0]


def test_a_lower_temperature_is_nearer_to_the_lowest_cost() -> None:
    """At 0.5 exp(-2) against exp(0), 0.119 against 0.881: 0.259 is not below it any more."""
    chooser = prepared("dynamo:router_temperature=0.5")
    assert [chooser._pick([8.0, 6.0]) for _ in range(4)] == [1, 1, 1, 1]


def test_a_request_that_ends_where_its_replica_has_left_is_forgotten() -> None:
    chooser = prepared()
    asked = request("1234")
    replica = chooser.choose(asked, fleet("0"), 0.0)
    chooser.left(0)
    chooser.ended(asked, replica, 1.0)
    assert not chooser._active.sizes
    assert not chooser._backlogs


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "kv_overlap_score_weight=-1",
            "kv_overlap_score_weight of dynamo must be a number, not '-1'",
        ),
        ("router_temperature=warm", "router_temperature of dynamo must be a number, not 'warm'"),
    ],
)
def test_a_wrong_value_is_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        policy(f"dynamo:{spec}")


# Each step: where a request ends, how many prefills end everywhere, and the next prompt.
_STEPS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), digits), max_size=20)


@settings(deadline=None)
@given(_STEPS, st.lists(digits, min_size=3, max_size=3), st.sampled_from([0, 0.5, 1, 3]))
def test_no_cost_is_lower_than_that_of_the_chosen(steps, held, weight: float) -> None:
    """Against the definition, worked out from all that was sent and what became of it."""
    chooser = prepared(f"dynamo:kv_overlap_score_weight={weight}")
    running: list[list[Request]] = [[], [], []]
    to_prefill: list[list[int]] = [[], [], []]
    for ends, prefilled, prompt in steps:
        for prompts in to_prefill:
            del prompts[:prefilled]
        if len(running[ends]) > len(to_prefill[ends]):
            chooser.ended(running[ends].pop(0), fleet()[ends], 0.0)
        asked = request(prompt)
        replicas = fleet(
            waiting=[max(0, len(prompts) - 1) for prompts in to_prefill],
            prefilling=[bool(prompts) for prompts in to_prefill],
            cache=caches(*held),
        )
        new = [asked.input_tokens - 4 * each.cache.held(asked.blocks) for each in replicas]
        costs = []
        for own, prompts, tokens in zip(running, to_prefill, new, strict=True):
            active = {key for each in (*own, asked) for key in each.blocks}
            costs.append(weight * (sum(prompts) + tokens) / 4 + len(active))
        chosen = chooser.choose(asked, replicas, 0.0).id
        assert costs[chosen] == min(costs)
        running[chosen].append(asked)
        to_prefill[chosen].append(new[chosen])
