from itertools import permutations

import pytest

from cachediag.errors import UsageError
from cachediag.simulate.model import Scale
from cachediag.simulate.policies import policy
from cachediag.simulate.policies.ray import Ray
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request


def prepared(spec: str) -> Ray:
    chooser = policy(spec)
    assert isinstance(chooser, Ray)
    chooser.prepare(Scale(block=4, characters=4.0), 0)
    return chooser


def test_the_shortest_queue_of_the_longest_matches_or_of_the_smallest_trees() -> None:
    """Half of a prompt must match; beyond 4 apart, queues are uneven. Seed 0 draws 0.844, 0.758.

    | request | prompt | queues at 0, 1, 2 | match | candidates | chosen |
    |---|---|---|---|---|---|
    | 1 | 1234 | 2 1 3 | 0 | smallest trees: 0 1 2 | 1 |
    | 2 | 1256 | 2 5 3 | 2/4 of 1 | 1 | 1 |
    | 3 | 1789 | 2 5 3 | 1/4 | smallest trees: 0 2, of no blocks | 0 |
    | 4 | 178 | 3 5 1 | 3/3 of 0 | 0 | 0 |
    | 5 | 1 | 5 4 1 | 1/1 of 0, 1 | 0 1 | 1 |
    | 6 | 1256 | 0 9 8 | not looked at: 9 apart | at random: 2 (0.844), 1 (0.758) | 2 |
    | 7 | 1256 | 0 4 3 | 4/4 of 1, 2 | 1 2 | 2 |
    | 8 | 1256 | 0 4 (gone) | 4/4 of 1 | 1 | 1 |
    """
    chooser = prepared("ray:match_rate_threshold=0.5,imbalanced_threshold=4")
    steps = [
        *(("1234", (2, 1, 3)), ("1256", (2, 5, 3)), ("1789", (2, 5, 3)), ("178", (3, 5, 1))),
        *(("1", (5, 4, 1)), ("1256", (0, 9, 8)), ("1256", (0, 4, 3))),
    ]
    chosen = [
        chooser.choose(request(each), fleet(outstanding=loads), 0.0).id for each, loads in steps
    ]
    assert chosen == [1, 1, 0, 0, 1, 2, 2]
    chooser.left(2)
    assert chooser.choose(request("1256"), fleet("01", outstanding=(0, 4)), 0.0).id == 1


def test_by_default_no_queue_is_too_long_and_nothing_is_dropped() -> None:
    chooser = prepared("ray")
    assert chooser.choose(request("1234"), fleet(outstanding=(0, 1, 1)), 0.0).id == 0
    assert chooser.choose(request("12"), fleet(outstanding=(9999, 0, 0)), 1e9).id == 0


def test_two_at_random_are_never_the_same_and_any_two_may_be() -> None:
    chooser = prepared("ray")
    pairs = [tuple(each.id for each in chooser._two(fleet("0123"))) for _ in range(300)]
    assert set(pairs) == set(permutations(range(4), 2))


def test_a_tenth_must_match_by_default() -> None:
    """One block of ten is enough, of eleven it is not."""
    for prompt, expected in (("1234567890", 0), ("12345678901", 1)):
        chooser = prepared("ray")
        assert chooser.choose(request("1"), fleet(outstanding=(0, 1, 2)), 0.0).id == 0
        assert chooser.choose(request(prompt), fleet(outstanding=(3, 1, 2)), 0.0).id == expected


def test_what_was_not_used_for_longest_is_dropped_down_to_the_target() -> None:
    """Above 80 characters, five blocks, down to 64, four; looked after every 10 s.

    Three quarters of a prompt must match.

    | request | at | prompt | queues at 0, 1 | chosen | why |
    |---|---|---|---|---|---|
    | 1 | 0 | 1234 | 0 9 | 0 | smallest trees: both |
    | 2 | 5 | 1256 | 0 9 | 1 | 2/4: the smallest tree |
    | 3 | 6 | 12347 | 0 9 | 0 | 4/5 of 0 |
    | 4 | 7 | 12348 | 0 9 | 0 | 4/5 of 0, which then has 1234, 7 and 8: six blocks |
    | 5 | 8 | 1234 | 0 9 | 0 | 4/4 of 0 |
    | 6 | 10 | 12347 | 0 9 | 0 | 7, used at 6, and 8, at 7, went; 4/5 of 0 |
    | 7 | 20 | 12348 | 0 9 | 0 | five blocks are not too many; 4/5 of 0 |
    | 8 | 30 | 1256 | 0 9 | 1 | 7, used at 10, went, and 8 and 1234 together, at 20; 4/4 of 1 |
    """
    chooser = prepared(
        "ray:match_rate_threshold=0.75,do_eviction=true,"
        "eviction_threshold_chars=80,eviction_target_chars=64,eviction_interval_secs=10"
    )
    steps = [
        *((0, "1234", 0), (5, "1256", 1), (6, "12347", 0), (7, "12348", 0), (8, "1234", 0)),
        *((10, "12347", 0), (20, "12348", 0), (30, "1256", 1)),
    ]
    kept = []
    for now, prompt, expected in steps:
        replicas = fleet("01", outstanding=(0, 9))
        assert chooser.choose(request(prompt), replicas, float(now)).id == expected
        kept.append(chooser._tree.sizes[0])
    assert kept == [4, 4, 5, 6, 6, 5, 6, 0]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("match_rate_threshold=2", "match_rate_threshold must be from 0.0 to 1.0, not 2.0"),
        ("do_eviction=yes", "do_eviction of ray must be false or true, not 'yes'"),
        ("eviction_interval_secs=0", "eviction_interval_secs must be at least 1, not 0"),
        ("imbalanced_threshold=-1", "imbalanced_threshold of ray must be a number, not '-1'"),
    ],
)
def test_a_wrong_value_is_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        policy(f"ray:{spec}")
