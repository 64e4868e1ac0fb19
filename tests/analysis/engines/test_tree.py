"""The tree against a list of all that was kept, and against vLLM's own queue of blocks."""

from collections import OrderedDict

from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.analysis.engines.tree import Held, PrefixTree
from cachediag.tokens.sequence import TokenSequence
from tests.analysis.engines.prompts import common, prompt, text

_PARTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=6)
_PROMPTS = st.lists(_PARTS, min_size=1, max_size=15)


def one_by_one(parts) -> TokenSequence:
    """The same tokens, cut into chunks of one."""
    return prompt(*([token] for part in parts for token in part))


@settings(deadline=None)
@given(prompts=_PROMPTS, page=st.integers(1, 4), lanes=st.booleans())
def test_the_longest_prefix_ever_kept_is_found(prompts, page: int, lanes: bool) -> None:
    tree = PrefixTree(page)
    kept: list[list[int]] = []
    for number, parts in enumerate(prompts):
        tokens = prompt(*parts)
        expected = max((common(tokens, old) for old in kept), default=0) // page * page
        assert tree.match(tokens) == expected
        held = tree.hold(tokens, f"lane {number % 3 if lanes else 0}")
        assert held.matched == expected
        tree.release(held, tokens, len(tokens))
        assert tree.match(tokens) == len(tokens) // page * page
        kept.append(list(tokens)[: len(tokens) // page * page])


@settings(deadline=None)
@given(prompts=_PROMPTS)
def test_it_does_not_matter_how_a_prompt_is_cut(prompts) -> None:
    whole, single = PrefixTree(), PrefixTree()
    for number, parts in enumerate(prompts):
        cut = prompt(*parts) if number % 2 else one_by_one(parts)
        held, other = whole.hold(cut), single.hold(one_by_one(parts))
        assert held.matched == other.matched
        whole.release(held, cut, len(cut))
        single.release(other, one_by_one(parts), len(cut))


class Queue:
    """vLLM's block pool: names of full blocks, and the free blocks in the order of their use.

    Unlike vLLM's, it takes a kept block where a request computes the same one anew.
    """

    def __init__(self, page: int, blocks: int) -> None:
        self.page = page
        self.never_used = blocks
        self.free: OrderedDict[object, None] = OrderedDict()
        self.names: set[object] = set()

    def run(self, ids: list[int], reply: list[int]) -> int:
        """A request from its start to its end; the tokens found."""
        held: list[object] = []
        found = self._find(held, ids)
        self._take(held, ids)
        if len(ids) % self.page:
            # Filled up by the reply.
            held.pop()
            self.never_used += 1
        kept = reply[: max(len(ids), len(reply) - 1)]
        self._find(held, kept)
        self._take(held, kept)
        for name in reversed(held):
            self.free[name] = None
        return found * self.page

    def _find(self, held: list[object], ids: list[int]) -> int:
        while len(held) < len(ids) // self.page and self._name(ids, len(held)) in self.names:
            held.append(self._name(ids, len(held)))
            self.free.pop(held[-1])
        return len(held)

    def _name(self, ids: list[int], block: int) -> object:
        return tuple(ids[: (block + 1) * self.page])

    def _take(self, held: list[object], ids: list[int]) -> None:
        while len(held) * self.page < len(ids):
            if self.never_used:
                self.never_used -= 1
            else:
                self.names.discard(self.free.popitem(last=False)[0])
            full = (len(held) + 1) * self.page <= len(ids)
            held.append(self._name(ids, len(held)) if full else object())
            if full:
                self.names.add(held[-1])


@settings(deadline=None, max_examples=200)
@given(
    prompts=st.lists(
        st.tuples(_PARTS, st.lists(st.integers(0, 2), max_size=6)), min_size=1, max_size=15
    ),
    page=st.integers(1, 4),
)
def test_blocks_are_dropped_as_from_a_queue_of_free_blocks(prompts, page: int) -> None:
    # Room for the longest request, and for little more.
    longest = max(sum(map(len, parts)) + len(reply) for parts, reply in prompts)
    blocks = longest // page + 3
    tree, queue = PrefixTree(page, blocks * page, partial=True), Queue(page, blocks)
    for parts, generated in prompts:
        tokens = prompt(*parts)
        reply = TokenSequence([*tokens.chunks, *prompt(generated).chunks])
        held = tree.hold(tokens)
        length = max(len(tokens), len(reply) - 1)
        tree.release(held, reply, length)
        assert held.matched == queue.run(list(tokens), list(reply))
        assert tree.used <= blocks * page


@settings(deadline=None)
@given(
    prompts=st.lists(st.tuples(_PARTS, st.booleans()), min_size=1, max_size=15),
    page=st.integers(1, 3),
    capacity=st.integers(1, 40),
    whole_leaves=st.booleans(),
    partial=st.booleans(),
)
def test_no_more_is_kept_than_there_is_room(
    prompts, page: int, capacity: int, whole_leaves: bool, partial: bool
) -> None:
    tree = PrefixTree(page, capacity, whole_leaves=whole_leaves, partial=partial)
    running: list[tuple[Held, TokenSequence]] = []
    for parts, runs_on in prompts:
        tokens = prompt(*parts)
        held = tree.hold(tokens)
        assert held.matched <= held.kept <= len(tokens)
        # What a running request holds stays.
        assert tree.match(tokens) == held.kept
        assert all(tree.match(other) >= place.kept for place, other in running)
        assert tree.used <= capacity
        running.append((held, tokens))
        while running and not runs_on:
            place, other = running.pop(0)
            tree.release(place, other, len(other))
            assert tree.used <= capacity


def test_the_least_recently_used_goes_first() -> None:
    tree = PrefixTree(1, 30)
    for number in range(3):
        held = tree.hold(prompt(text(10, number)), f"lane {number}")
        tree.release(held, prompt(text(10, number)), 10, f"lane {number}")
    again = tree.hold(prompt(text(10, 0)), "lane 0")
    tree.release(again, prompt(text(10, 0)), 10, "lane 0")
    assert tree.hold(prompt(text(5, 4)), "lane 4").evicted == ("lane 1",)
    assert tree.match(prompt(text(10, 1))) == 5
    assert tree.match(prompt(text(10, 2))) == 10


def test_a_leaf_goes_whole_where_leaves_are_dropped_whole() -> None:
    tree = PrefixTree(1, 30, whole_leaves=True)
    for number in range(3):
        held = tree.hold(prompt(text(10, number)))
        tree.release(held, prompt(text(10, number)), 10)
    tree.hold(prompt(text(5, 4)))
    assert tree.match(prompt(text(10, 0))) == 0
    assert tree.match(prompt(text(10, 1))) == 10
    assert tree.used == 25


def test_entries_expire_where_asked_to() -> None:
    tree = PrefixTree(2)
    tokens, longer = prompt(text(6)), prompt(text(6), text(4, 1))
    assert tree.visit(tokens, "", 0, -10) == (0, 0)
    assert tree.visit(longer, "", 5, -5) == (6, 6)
    assert tree.visit(tokens, "", 14, 4) == (6, 6)
    # The end of the longer prompt was last used at 5, its head at 14.
    assert tree.visit(longer, "", 20, 10) == (6, 10)
    assert tree.visit(longer, "", 40, 30) == (0, 10)
