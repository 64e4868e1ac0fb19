import pytest

from cachediag.errors import UsageError
from cachediag.simulate.model import Policy, Scale
from cachediag.simulate.policies import policy
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request


def prepared(spec: str) -> Policy:
    chooser = policy(spec)
    chooser.prepare(Scale(block=4, characters=4.0), 0)
    return chooser


def test_by_match_while_the_load_is_even_and_by_load_otherwise() -> None:
    """With the defaults: more than 0.3 must match; uneven beyond 64 apart and 1.5 times.

    | request | prompt | outstanding at 0, 1, 2 | match | chosen | why |
    |---|---|---|---|---|---|
    | 1 | 1234 | 0 0 0 | 0 | 0 | no match: the first of the fewest |
    | 2 | 1235 | 1 0 0 | 3/4 of 0 | 0 | match |
    | 3 | 1678 | 2 0 0 | 1/4 of 0 | 1 | too short: the first of the fewest |
    | 4 | 167 | 2 1 0 | 3/3 of 1 | 1 | match; block 1 was first sent to 0 |
    | 5 | 12 | 2 2 0 | 2/2 of 0 | 0 | match, in the middle of what was sent |
    | 6 | 1234 | 70 3 5 | 4/4 of 0 | 1 | 67 apart, 70 > 4.5: the fewest |
    | 7 | 1234 | 67 3 5 | 4/4 of 0, 1 | 0 | 64 apart is even: it came in by 0 |
    | 8 | 1234 | 300 200 202 | 4/4 of 0, 1 | 0 | 1.5 times is even |
    | 9 | 1234 | (gone) 9 0 | 4/4 of 1 | 1 | 0 has left: another that holds it |
    """
    chooser = prepared("sglang")
    steps = [
        *(("1234", (0, 0, 0)), ("1235", (1, 0, 0)), ("1678", (2, 0, 0)), ("167", (2, 1, 0))),
        *(("12", (2, 2, 0)), ("1234", (70, 3, 5)), ("1234", (67, 3, 5))),
        ("1234", (300, 200, 202)),
    ]
    chosen = [
        chooser.choose(request(each), fleet(outstanding=loads), 0.0).id for each, loads in steps
    ]
    assert chosen == [0, 0, 1, 1, 0, 1, 0, 0]
    chooser.left(0)
    assert chooser.choose(request("1234"), fleet("12", outstanding=(9, 0)), 0.0).id == 1


def test_a_match_of_just_the_threshold_is_too_short() -> None:
    """Three of ten blocks, and of nine."""
    chooser = prepared("sglang")
    assert chooser.choose(request("123"), fleet(outstanding=(0, 1, 1)), 0.0).id == 0
    assert chooser.choose(request("1234567890"), fleet(outstanding=(1, 0, 1)), 0.0).id == 1
    chooser = prepared("sglang")
    assert chooser.choose(request("123"), fleet(outstanding=(0, 1, 1)), 0.0).id == 0
    assert chooser.choose(request("123456789"), fleet(outstanding=(1, 0, 1)), 0.0).id == 0


def test_what_was_not_used_for_longest_is_dropped_at_its_time() -> None:
    """Four blocks of 16 characters are kept, looked after every ten seconds; 0.5 must match.

    | request | at | prompt | of 0 and 1 | why |
    |---|---|---|---|---|
    | 1 | 0 | 1234 | 0 | no match: the fewest |
    | 2 | 1 | 1256 | 1 | 2/4 is just the threshold: the fewest |
    | 3 | 2 | 12567 | 1 | 4/5 of 1 |
    | 4 | 3 | 1289 | 1 | 2/4: the fewest; 1 holds 12, 56, 7, 89: 7 blocks |
    | 5 | 9 | 12567 | 1 | 5/5 of 1: its leaf is used |
    | 6 | 10 | 1289 | 0 | leaf 89 went, then 7, for 4 blocks to be left: 2/4, the fewest |
    | 7 | 11 | 1256 | 1 | 4/4 of 1: still there |
    | 8 | 11 | 12567 | 1 | 4/5 of 1 |
    """
    chooser = prepared("sglang:cache_threshold=0.5,eviction_interval_secs=10,max_tree_size=64")
    steps = [
        *((0, "1234", (0, 1)), (1, "1256", (1, 0)), (2, "12567", (0, 1)), (3, "1289", (1, 0))),
        *((9, "12567", (0, 1)), (10, "1289", (0, 1)), (11, "1256", (0, 1)), (11, "12567", (0, 1))),
    ]
    chosen = [
        chooser.choose(request(each), fleet("01", outstanding=loads), now).id
        for now, each, loads in steps
    ]
    assert chosen == [0, 1, 1, 1, 1, 0, 1, 1]


def test_a_place_that_becomes_a_leaf_has_the_age_of_its_own_last_use() -> None:
    """Two blocks of 16 characters are kept, looked after every ten seconds.

    | request | at | prompt | of 0 and 1 | why |
    |---|---|---|---|---|
    | 1 | 0 | 123 | 0 | no match: the fewest |
    | 2 | 1 | 45 | 0 | no match: the fewest |
    | 3 | 2 | 12 | 0 | 2/2 of 0 |
    | 4 | 10 | 12 | 0 | leaf 3 went, then 45: 12 was used after it |
    | 5 | 11 | 45 | 1 | gone: the fewest |
    """
    chooser = prepared("sglang:eviction_interval_secs=10,max_tree_size=32")
    steps = [
        *((0, "123", (0, 1)), (1, "45", (0, 1)), (2, "12", (0, 1))),
        *((10, "12", (1, 0)), (11, "45", (1, 0))),
    ]
    chosen = [
        chooser.choose(request(each), fleet("01", outstanding=loads), now).id
        for now, each, loads in steps
    ]
    assert chosen == [0, 0, 0, 0, 1]


def test_a_match_counts_as_a_use_at_every_eighth_step_of_the_clock() -> None:
    """The clock goes on with each look-up and each prompt sent, from 0. Two blocks are kept.

    | request | at | looked up | sent | prompt | of 0 and 1 | why |
    |---|---|---|---|---|---|---|
    | 1 | 0 | 0 | 1 | 12 | 0 | no match: the fewest |
    | 2 | 1 | 2 | 3 | 34 | 0 | no match: the fewest |
    | 3 | 2 | 4 | 5 | 77 | 1 | no match: the fewest |
    | 4 | 3 | 6 | 7 | 77 | 1 | 2/2 of 1 |
    | 5 | 4 | 8 | 9 | 1256 | 1 | 2/4 is just the threshold; that of 0 counts as a use |
    | 6 | 10 | | | 12 | 0 | 0 lost 34, which was last used at 3 |
    | 7 | 11 | | | 34 | 1 | gone: the fewest |
    """
    chooser = prepared("sglang:cache_threshold=0.5,eviction_interval_secs=10,max_tree_size=32")
    steps = [
        *((0, "12", (0, 1)), (1, "34", (0, 1)), (2, "77", (1, 0)), (3, "77", (0, 1))),
        *((4, "1256", (1, 0)), (10, "12", (1, 0)), (11, "34", (1, 0))),
    ]
    chosen = [
        chooser.choose(request(each), fleet("01", outstanding=loads), now).id
        for now, each, loads in steps
    ]
    assert chosen == [0, 0, 1, 1, 1, 0, 1]


def test_nothing_is_dropped_where_no_time_is_given() -> None:
    chooser = prepared("sglang:eviction_interval_secs=0,max_tree_size=1")
    assert chooser.choose(request("1234"), fleet("01", outstanding=(1, 0)), 0.0).id == 1
    assert chooser.choose(request("1234"), fleet("01", outstanding=(0, 1)), 1e9).id == 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cache_threshold=1.1", "cache_threshold must be from 0.0 to 1.0, not 1.1"),
        ("balance_rel_threshold=0.9", "balance_rel_threshold must be from 1.0 to inf, not 0.9"),
        ("max_tree_size=0", "max_tree_size must be at least 1, not 0"),
        (
            "balance_abs_threshold=0.5",
            "balance_abs_threshold of sglang must be a number, not '0.5'",
        ),
        ("cache_threshold=nan", "cache_threshold of sglang must be a number, not 'nan'"),
    ],
)
def test_a_wrong_value_is_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        policy(f"sglang:{spec}")
