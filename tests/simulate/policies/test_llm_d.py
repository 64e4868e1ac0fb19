import pytest

from cachediag.errors import UsageError
from cachediag.simulate.model import Scale
from cachediag.simulate.policies import policy
from cachediag.simulate.policies.llm_d import LlmD
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request


def prepared(spec: str, block: int = 64) -> LlmD:
    chooser = policy(spec)
    assert isinstance(chooser, LlmD)
    chooser.prepare(Scale(block=block), 0)
    return chooser


def test_the_highest_sum_of_prefix_queue_and_cache() -> None:
    """3 times the share matched, 2 times the queue's score, 2 times the cache's that is free.

    Servers have 1,000 tokens of cache. Scores are those of 0, 1, 2.

    | request | prompt | waiting | tokens | prefix | queue | free | sums | chosen |
    |---|---|---|---|---|---|---|---|---|
    | 1 | 1234 | 0 0 0 | 0 100 200 | 0 0 0 | 1 1 1 | 1 .9 .8 | 4 3.8 3.6 | 0 |
    | 2 | 1256 | 1 0 0 | 500 100 200 | .5 0 0 | 0 1 1 | .5 .9 .8 | 2.5 3.8 3.6 | 1 |
    | 3 | 1234 | 1 1 1 | 900 100 100 | 1 .5 0 | 1 1 1 | .1 .9 .9 | 5.2 5.3 3.8 | 1 |
    | 4 | 1234 | 2 3 1 | 500 500 500 | 1 1 0 | .5 0 1 | .5 .5 .5 | 5 4 3 | 0 |
    | 5 | 1234 | 4 5 4 | 2000 1500 0 | 1 1 0 | 1 0 1 | 0 0 1 | 5 3 4 | 0 |
    | 6 | 1234 | (gone) 0 0 | 900 0 | 1 0 | 1 1 | .1 1 | 5.2 4 | 1 |
    """
    chooser = prepared("llm-d:kvCacheTokens=1000")
    steps = [
        ("1234", (0, 0, 0), (0, 100, 200)),
        ("1256", (1, 0, 0), (500, 100, 200)),
        ("1234", (1, 1, 1), (900, 100, 100)),
        ("1234", (2, 3, 1), (500, 500, 500)),
        ("1234", (4, 5, 4), (2000, 1500, 0)),
    ]
    chosen = [
        chooser.choose(request(each), fleet(waiting=waiting, tokens=tokens), 0.0).id
        for each, waiting, tokens in steps
    ]
    assert chosen == [0, 1, 1, 0, 0]
    chooser.left(0)
    left = fleet("12", waiting=(0, 0), tokens=(900, 0))
    assert chooser.choose(request("1234"), left, 0.0).id == 1


def test_the_head_of_what_was_not_used_for_longest_goes_first() -> None:
    """By the prefix, and then by the cache; four blocks for each server.

    | request | prompt | tokens | index of 0 before | matched | chosen |
    |---|---|---|---|---|---|
    | 1 | 12 | 0 1 | | | 0 |
    | 2 | 34 | 0 1 | 12 | | 0 |
    | 3 | 12 | 1 0 | 12 34 | 2/2 0/2 | 0 |
    | 4 | 5 | 0 1 | 34 12 | | 0 |
    | 5 | 34 | 1 0 | the second block of 34, 12, 5 | none: nobody has its first | 1 |
    | 6 | 12 | 1 0 | the same | 2/2 0/2 | 0 |
    """
    chooser = prepared("llm-d:lruCapacityPerServer=4,kvCacheTokens=1000000")
    steps = [
        *(("12", (0, 1)), ("34", (0, 1)), ("12", (1, 0)), ("5", (0, 1))),
        *(("34", (1, 0)), ("12", (1, 0))),
    ]
    chosen = [
        chooser.choose(request(each), fleet("01", tokens=tokens), 0.0).id for each, tokens in steps
    ]
    assert chosen == [0, 0, 0, 0, 1, 0]


def test_blocks_behind_one_that_a_server_lost_still_count_where_another_has_it() -> None:
    """Blocks are looked up one by one until none has one, whoever has those before it.

    | request | prompt | tokens | index of 0 | index of 1 | matched | chosen |
    |---|---|---|---|---|---|---|
    | 1 | 1234 | 0 900 | | | | 0 |
    | 2 | 56 | 0 900 | 1234 | | | 0 |
    | 3 | 1 | 900 0 | 34 of it, 56 | | none | 1 |
    | 4 | 12 | 900 0 | the same | 1 | 0/2 1/2 | 1 |

    Of 1234, server 1 then has the first two blocks and server 0 the last two.
    """
    chooser = prepared("llm-d:lruCapacityPerServer=4,kvCacheTokens=1000")
    steps = [("1234", (0, 900)), ("56", (0, 900)), ("1", (900, 0)), ("12", (900, 0))]
    chosen = [
        chooser.choose(request(each), fleet("01", tokens=tokens), 0.0).id for each, tokens in steps
    ]
    assert chosen == [0, 0, 1, 1]
    matches = dict(chooser._matches(request("1234").blocks))
    assert matches == {0b10: 2, 0b01: 2}


@pytest.mark.parametrize(
    ("spec", "block", "keys"),
    [
        ("", 16, 3),  # 64 tokens at least: four of the nine blocks at once, and the last one
        ("blockSizeTokens=128", 16, 2),
        ("blockSizeTokens=128", 512, 9),
        ("maxPrefixTokensToMatch=128", 16, 2),
        ("maxPrefixTokensToMatch=0,maxPrefixBlocksToMatch=1", 16, 1),
        ("maxPrefixTokensToMatch=0,maxPrefixBlocksToMatch=0", 16, 3),
    ],
)
def test_a_prompt_of_nine_blocks_has_so_many_in_the_index(spec: str, block: int, keys: int) -> None:
    chooser = prepared(f"llm-d:{spec}", block)
    assert chooser.choose(request("123456789"), fleet("0"), 0.0).id == 0
    assert len(chooser._holders) == keys


def test_a_larger_block_fills_more_of_the_index() -> None:
    """32 blocks of 64 tokens are 4 of 512."""
    chooser = prepared("llm-d:lruCapacityPerServer=32", 512)
    assert chooser.choose(request("12345678"), fleet("0"), 0.0).id == 0
    assert len(chooser._holders) == 4


def test_equal_scores_are_broken_at_random() -> None:
    """Seed 0 draws 0.844, 0.758, 0.421, of three."""
    chooser = prepared("llm-d")
    drawn = [chooser.choose(request(each), fleet(), 0.0).id for each in "123"]
    assert drawn == [2, 2, 1]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("blockSizeTokens=0", "blockSizeTokens must be at least 1, not 0"),
        ("lruCapacityPerServer=0", "lruCapacityPerServer must be at least 1, not 0"),
        ("kvCacheTokens=0", "kvCacheTokens must be at least 1, not 0"),
        ("queueScorerWeight=x", "queueScorerWeight of llm-d must be a number, not 'x'"),
    ],
)
def test_a_wrong_value_is_refused(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        policy(f"llm-d:{spec}")
