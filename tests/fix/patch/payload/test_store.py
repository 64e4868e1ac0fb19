"""Which prompts are kept, and which of them is found."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cachediag.fix.patch.payload.store import Store, shared


@dataclass(frozen=True, eq=False)
class State:
    nbytes: int = 1
    trims: bool = True


def nothing() -> None:
    pass


def system(store: Store, key: tuple[int, ...], state: State | None = None) -> bool:
    return store.keep_system(key, state or State(), nothing)


def branch(
    store: Store, key: tuple[int, ...], rest: tuple[int, ...], state: State | None = None
) -> bool:
    return store.keep_branch(key, key + rest, state or State(), nothing)


def found(store: Store, tokens: tuple[int, ...], limit: int | None = None) -> int:
    best = store.find(tokens, len(tokens) if limit is None else limit)
    return best.length if best else 0


def test_two_prefixes_need_two_slots():
    a, b = (1, 2, 3), (4, 5, 6)
    for slots, expected in ((1, [0, 0, 0, 0]), (2, [0, 0, 3, 3])):
        store, got = Store(slots, 100), []
        for key in (a, b, a, b):
            got.append(found(store, (*key, 9)))
            system(store, key)
        assert got == expected


def test_the_slot_that_was_used_last_stays():
    store = Store(2, 100)
    system(store, (1,))
    system(store, (2,))
    assert found(store, (1, 9)) == 1
    system(store, (3,))
    assert [found(store, (key, 9)) for key in (1, 2, 3)] == [1, 0, 1]
    assert store.evictions == 1


def test_the_longest_prefix_is_found_and_cut_to_what_is_shared():
    store = Store(4, 100)
    system(store, (1, 2))
    branch(store, (1, 2), (3, 4, 5))
    assert found(store, (1, 2, 3, 4, 9)) == 4
    assert found(store, (1, 2, 3, 4, 5, 6)) == 5
    assert found(store, (1, 2, 3, 4, 5), limit=4) == 4
    assert found(store, (7, 2, 3)) == 0


def test_what_cannot_be_cut_is_found_whole_or_not_at_all():
    store = Store(4, 100)
    system(store, (1, 2), State(trims=False))
    branch(store, (1, 2), (3, 4, 5), State(trims=False))
    assert found(store, (1, 2, 3, 4, 5, 6)) == 5
    assert found(store, (1, 2, 3, 4, 9)) == 2
    assert found(store, (1, 2, 3, 4, 5), limit=4) == 2
    assert found(store, (1, 9)) == 0


def test_a_conversation_takes_the_place_of_what_it_continues():
    store = Store(4, 100)
    system(store, (1,))
    for rest in ((2,), (2, 3), (2, 3, 4), (2, 9)):
        branch(store, (1,), rest)
    assert store.described()[0]["branches"] == [4, 3]


def test_branches_push_each_other_out_and_not_their_system_prefix():
    store = Store(4, 100, branches=2)
    system(store, (1,))
    for number in range(10, 16):
        branch(store, (1,), (number,))
    assert store.described() == [
        {"system_tokens": 1, "pinned": True, "bytes": 3, "branches": [2, 2]}
    ]
    assert [found(store, (1, number, 0)) for number in (10, 14, 15)] == [1, 2, 2]
    assert store.evictions == 4


def test_memory_is_taken_from_conversations_first_then_from_other_slots():
    store = Store(4, 10)
    system(store, (1,), State(4))
    branch(store, (1,), (7,), State(1))
    system(store, (2,), State(4))
    branch(store, (2,), (7,), State(1))
    # One byte more than there is: the branch that was used longest ago goes.
    assert branch(store, (2,), (8,), State(1))
    assert [found(store, t) for t in ((1, 7), (2, 7), (2, 8))] == [1, 2, 2]
    # Both branches go, then the slot that is not asked for.
    assert system(store, (3,), State(6))
    assert [(s["system_tokens"], s["bytes"]) for s in store.described()] == [(1, 6), (1, 4)]
    assert not system(store, (4,), State(11))
    assert found(store, (4, 9)) == 0


def test_nothing_is_computed_for_what_has_no_room():
    store, computed = Store(1, 1), []
    assert not store.keep_system((1,), State(2), lambda: computed.append(1))
    assert store.keep_system((1,), State(1), lambda: computed.append(2))
    assert computed == [2]


def test_dropping_a_prefix_takes_its_branches_along():
    store = Store(2, 100)
    system(store, (1,))
    branch(store, (1,), (2,))
    kept = store.system((1,))
    assert kept is not None
    store.drop(kept)
    assert (found(store, (1, 2, 3)), store.nbytes) == (0, 0)


def test_clearing():
    store = Store(2, 100)
    system(store, (1,))
    system(store, (2,))
    assert (store.clear(), store.clear(), store.nbytes) == (2, 0, 0)


TOKENS = st.lists(st.integers(0, 2), max_size=6).map(tuple)


@given(TOKENS, TOKENS)
def test_shared_prefixes(one, other):
    length = shared(one, other)
    assert one[:length] == other[:length]
    assert length == min(len(one), len(other)) or one[length] != other[length]


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_shared_prefixes_of_long_prompts(length, surplus):
    one = (*range(length), -1)
    assert shared(one, (*range(length), -2, *range(surplus))) == length


REQUESTS = st.lists(
    st.tuples(TOKENS, TOKENS, st.integers(1, 4), st.booleans()), min_size=1, max_size=30
)


@given(REQUESTS, st.integers(1, 3), st.integers(1, 12), st.integers(1, 2))
def test_whatever_is_asked_limits_hold_and_what_is_found_is_true(
    requests, slots, max_bytes, branches
):
    store = Store(slots, max_bytes, branches)
    ever: list[tuple[int, ...]] = []
    for key, rest, nbytes, trims in requests:
        tokens = key + rest
        best = store.find(tokens, len(tokens))
        if best is not None:
            kept = tuple(best.kept.tokens)
            assert kept in ever
            assert kept[: best.length] == tokens[: best.length]
            assert best.length == len(kept) or best.kept.state.trims
            # A longer one would have been found.
            for slot in store.slots:
                for other in slot.kept:
                    if shared(other.tokens, tokens) == len(other.tokens):
                        assert best.length >= len(other.tokens)
        if key and store.system(key) is None:
            system(store, key, State(nbytes, trims))
            ever.append(key)
        branch(store, key, rest, State(nbytes, trims))
        ever.append(tokens)
        assert store.nbytes <= max_bytes
        assert len(store.slots) <= slots
        assert len({slot.key for slot in store.slots}) == len(store.slots)
        assert all(len(slot.branches) <= branches for slot in store.slots)
