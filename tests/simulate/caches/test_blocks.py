from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from cachediag.simulate.caches.blocks import AllBlocks, RecentBlocks
from tests.simulate.prompts import chained, digits, request

Use = tuple[str, str | None]


class Plain:
    """Blocks in the order of their last use, each of them moved at each use."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept: dict[int, None] = {}

    def use(self, blocks: tuple[int, ...]) -> int:
        found = next((n for n, key in enumerate(blocks) if key not in self.kept), len(blocks))
        for key in reversed(blocks):
            self.kept.pop(key, None)
            self.kept[key] = None
        while len(self.kept) > self.limit:
            del self.kept[next(iter(self.kept))]
        return found


def test_the_head_that_was_seen_is_reused_but_never_the_last_token() -> None:
    cache = AllBlocks(4)
    assert cache.begin(request("123"), 0) == 0
    assert cache.begin(request("1234"), 1) == 12
    assert cache.begin(request("1234"), 2) == 15
    assert cache.begin(request("124"), 3) == 8
    assert cache.begin(request("23"), 4) == 0
    assert cache.held(chained("1244")) == 3


def test_a_block_that_is_partly_filled_is_found_again() -> None:
    cache = AllBlocks(4)
    cache.begin(request("12", input_tokens=6), 0)
    assert cache.held(chained("12")) == 2
    assert cache.begin(request("12", input_tokens=6), 1) == 5


def test_a_reply_is_found_when_its_request_has_ended() -> None:
    for cache in (AllBlocks(4), RecentBlocks(4, 8)):
        asked = request("12", kept="125")
        cache.begin(asked, 0)
        assert cache.held(chained("125")) == 2
        cache.end(asked, 1)
        assert cache.begin(request("1256"), 2) == 12


def test_a_block_that_the_reply_fills_up_is_kept_only_then() -> None:
    """6 tokens in blocks of 4: the second block, 12, is not yet 13, which holds the reply."""
    for cache in (AllBlocks(4), RecentBlocks(4, 8)):
        asked = request("12", kept="13", input_tokens=6)
        assert cache.begin(asked, 0) == 0
        assert cache.begin(asked, 0) == 4
        cache.end(asked, 1)
        assert [cache.held(chained(prompt)) for prompt in ("12", "13")] == [1, 2]
        short = request("14", kept="1", input_tokens=6)
        cache.begin(short, 2)
        cache.end(short, 3)
        assert cache.held(chained("14")) == 1


def test_an_empty_prompt_reuses_nothing() -> None:
    for cache in (AllBlocks(4), RecentBlocks(4, 2)):
        assert cache.begin(request(""), 0) == 0
        assert cache.begin(request("", input_tokens=3), 0) == 0


def test_the_last_block_of_what_was_not_used_for_longest_is_dropped_first() -> None:
    """A limit of 5 blocks, named by their prompt's digits.

    | use  | kept, longest unused first | dropped |
    |------|----------------------------|---------|
    | 123  | 123 12 1                   |         |
    | 45   | 123 12 1 45 4              |         |
    | 1    | 123 12 45 4 1              |         |
    | 6    | 12 45 4 1 6                | 123     |
    | 78   | 4 1 6 78 7                 | 12 45   |
    """
    cache = RecentBlocks(4, 5)
    for prompt in ("123", "45", "1", "6"):
        cache.begin(request(prompt), 0)
    assert [cache.held(chained(prompt)) for prompt in ("123", "45", "6")] == [2, 2, 1]
    cache.begin(request("78"), 0)
    assert [cache.held(chained(prompt)) for prompt in ("123", "45", "6", "78")] == [1, 1, 1, 2]


def test_a_prompt_is_used_again_when_its_request_ends() -> None:
    cache = RecentBlocks(4, 2)
    first = request("1")
    cache.begin(first, 0)
    cache.begin(request("2"), 1)
    cache.end(first, 2)
    cache.begin(request("3"), 3)
    assert (cache.held(chained("1")), cache.held(chained("2"))) == (1, 0)


def test_of_a_prompt_longer_than_the_cache_its_head_is_kept() -> None:
    cache = RecentBlocks(4, 2)
    cache.begin(request("1234"), 0)
    assert cache.held(chained("1234")) == 2
    nothing = RecentBlocks(4, 0)
    assert nothing.begin(request("12"), 0) == nothing.begin(request("12"), 1) == 0


def test_looking_is_no_use() -> None:
    cache = RecentBlocks(4, 2)
    cache.begin(request("1"), 0)
    cache.begin(request("2"), 1)
    assert cache.held(chained("1")) == 1
    cache.begin(request("3"), 2)
    assert cache.held(chained("1")) == 0


@given(st.lists(st.tuples(digits, st.none() | digits), max_size=40), st.integers(0, 12))
def test_it_drops_as_if_each_block_were_moved_at_each_use(uses: list[Use], limit: int) -> None:
    cache, plain = RecentBlocks(1, limit), Plain(limit)
    for prompt, reply in uses:
        asked = request(prompt, kept=None if reply is None else prompt + reply, block=1)
        found = plain.use(asked.blocks)
        assert cache.begin(asked, 0) == max(0, min(found, asked.input_tokens - 1))
        plain.use(asked.blocks if asked.kept is None else asked.kept)
        cache.end(asked, 0)
        assert cache._kept == len(plain.kept)
    for prompt, _ in uses:
        blocks = chained(prompt)
        assert cache.held(blocks) == sum(key in plain.kept for key in blocks)


@given(st.lists(st.tuples(digits, st.none() | digits), max_size=40))
def test_without_a_limit_what_was_ever_seen_is_found(uses: list[Use]) -> None:
    everything, ample = AllBlocks(1), RecentBlocks(1, 1000)
    seen: set[int] = set()
    for prompt, reply in uses:
        asked = request(prompt, kept=None if reply is None else prompt + reply, block=1)
        found = sum(key in seen for key in asked.blocks)
        assert everything.held(asked.blocks) == ample.held(asked.blocks) == found
        for cache in (everything, ample):
            cache.begin(asked, 0)
            cache.end(asked, 0)
        seen |= {*asked.blocks, *(asked.kept or ())}


@given(st.lists(st.lists(st.integers(0, 5), max_size=5), max_size=30), st.integers(0, 8))
def test_keys_that_name_no_prefix_do_no_harm(prompts: list[list[int]], limit: int) -> None:
    recent, everything = RecentBlocks(1, limit), AllBlocks(1)
    for number, blocks in enumerate(prompts):
        asked = replace(request(block=1), blocks=tuple(blocks), input_tokens=len(blocks))
        for cache in (recent, everything):
            assert 0 <= cache.begin(asked, number) <= max(0, len(blocks) - 1)
            cache.end(asked, number)
        assert recent._kept <= limit
