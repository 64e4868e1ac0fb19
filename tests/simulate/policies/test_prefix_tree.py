import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.heads import common_head
from cachediag.simulate.policies.prefix_tree import PrefixTree, coarser, longest
from tests.simulate.fleet import fleet
from tests.simulate.prompts import chained, digits

_STEPS = st.lists(st.tuples(digits, st.integers(0, 3)), max_size=20)


class Sent:
    """What the tree must say, by brute force: every prompt, and to whom it was sent."""

    def __init__(self, steps: list[tuple[str, int]]) -> None:
        self.steps = steps

    def longest(self, prompt: str) -> int:
        return max((common_head(prompt, sent) for sent, _ in self.steps), default=0)

    def holders(self, prefix: str) -> set[int]:
        return {replica for sent, replica in self.steps if sent.startswith(prefix)}

    def size(self, replica: int) -> int:
        own = [sent for sent, other in self.steps if other == replica]
        return len({sent[:end] for sent in own for end in range(1, len(sent) + 1)})


def check(tree: PrefixTree, sent: Sent, prompt: str) -> None:
    path = tree.path(chained(prompt))
    matched = path[-1][1] if path else 0
    assert matched == sent.longest(prompt)
    for node, length in path:
        found = {number for number in range(5) if node.holders >> number & 1}
        assert found == sent.holders(prompt[:length])


@settings(deadline=None)
@given(_STEPS, digits)
def test_a_path_says_how_far_a_prompt_was_seen_and_by_whom(steps, prompt: str) -> None:
    tree = PrefixTree()
    for digits_, replica in steps:
        nodes = tree.insert(chained(digits_), replica)
        assert tuple(key for node in nodes for key in node.keys) == chained(digits_)
    sent = Sent(steps)
    check(tree, sent, prompt)
    assert {each: size for each, size in tree.sizes.items() if size} == {
        each: sent.size(each) for each in range(4) if sent.size(each)
    }


@settings(deadline=None)
@given(_STEPS, digits, st.sets(st.integers(0, 4), min_size=1))
def test_the_longest_is_sought_among_those_that_are_there(steps, prompt: str, there) -> None:
    tree = PrefixTree()
    for digits_, replica in steps:
        tree.insert(chained(digits_), replica)
    replicas = fleet("".join(map(str, sorted(there))))
    found, length = longest(tree.path(chained(prompt)), replicas)
    sent = Sent([(each, replica) for each, replica in steps if replica in there])
    assert length == sent.longest(prompt)
    holders = sent.holders(prompt[:length]) if length else there
    assert [each.id for each in found] == sorted(holders)


@settings(deadline=None)
@given(_STEPS, st.integers(0, 3), digits)
def test_a_replica_that_is_removed_leaves_nothing_behind(steps, gone: int, prompt: str) -> None:
    tree = PrefixTree()
    for digits_, replica in steps:
        tree.insert(chained(digits_), replica)
    tree.remove(gone)
    check(tree, Sent([(each, replica) for each, replica in steps if replica != gone]), prompt)
    for replica in range(4):
        tree.remove(replica)
    assert not tree.marks
    assert not tree.sizes
    assert not tree._starts


@settings(deadline=None)
@given(_STEPS)
def test_a_node_that_is_cut_keeps_its_marks(steps) -> None:
    tree = PrefixTree()
    for at, (digits_, replica) in enumerate(steps):
        for node in tree.insert(chained(digits_), replica):
            tree.marks[replica][node] = at
    for replica, marks in tree.marks.items():
        for node, mark in marks.items():
            last = max(
                number
                for number, (sent, other) in enumerate(steps)
                if other == replica and node.keys[-1] in chained(sent)
            )
            assert mark == last


@pytest.mark.parametrize(
    ("step", "chunks"),
    [(1, (1, 2, 3, 4, 5)), (2, (2, 4, 5)), (3, (3, 5)), (5, (5,)), (9, (5,))],
)
def test_chunks_end_with_every_so_manieth_block_and_with_the_last(step: int, chunks) -> None:
    assert coarser((1, 2, 3, 4, 5), step) == chunks


def test_no_blocks_have_no_chunks() -> None:
    assert coarser((), 2) == coarser((), 1) == ()
