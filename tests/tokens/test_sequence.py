"""Sequences are compared as what they are, lists of ids, however they were cut."""

from array import array
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.tokens.sequence import Chunk, TokenSequence, agreement

ids = st.lists(st.integers(0, 2), max_size=400)


def chunk(of: list[int]) -> Chunk:
    return Chunk(array("I", of), bytes(of), len(of))


def cut(of: list[int], places: list[int], pool: dict[bytes, Chunk]) -> TokenSequence:
    """The ids in chunks; chunks of one content are one object where the pool is shared."""
    edges = sorted({0, len(of), *(place % (len(of) + 1) for place in places)})
    chunks = [chunk(of[a:b]) for a, b in pairwise(edges)]
    return TokenSequence(pool.setdefault(one.digest, one) for one in chunks)


def common(a: list[int], b: list[int]) -> int:
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def test_a_sequence_knows_where_its_chunks_begin() -> None:
    sequence = TokenSequence([chunk([1, 2, 3]), chunk([4]), chunk([5, 6])])
    assert sequence.starts == (0, 3, 4, 6)
    assert len(sequence) == 6
    assert list(sequence) == [1, 2, 3, 4, 5, 6]


def test_the_sizes_of_chunks_may_be_given() -> None:
    chunks = [chunk([1, 2, 3]), chunk([4])]
    assert TokenSequence(chunks, (3, 1)).starts == TokenSequence(chunks).starts == (0, 3, 4)


def test_a_sequence_of_nothing() -> None:
    nothing = TokenSequence([])
    assert (len(nothing), nothing.starts, list(nothing)) == (0, (0,), [])
    assert nothing.shared(TokenSequence([chunk([1])])) == 0


@given(ids, ids, st.integers(0, 400), st.lists(st.integers(0, 400)), st.lists(st.integers(0, 400)))
@settings(max_examples=1500)
def test_shared_counts_equal_ids_at_the_head(
    a: list[int], tail: list[int], keep: int, a_places: list[int], b_places: list[int]
) -> None:
    b = a[:keep] + tail
    pool: dict[bytes, Chunk] = {}
    one, two, alone = cut(a, a_places, pool), cut(b, b_places, pool), cut(b, b_places, {})
    assert one.shared(two) == two.shared(one) == one.shared(alone) == common(a, b)


@given(ids, ids, st.lists(st.integers(0, 400)), st.lists(st.integers(0, 400)), st.data())
def test_agreement_goes_on_from_where_runs_are_known_to_agree(
    a: list[int], tail: list[int], a_places: list[int], b_places: list[int], data: st.DataObject
) -> None:
    b = a[: len(a) // 2] + tail
    one, two = cut(a, a_places, {}), cut(b, b_places, {})
    known = data.draw(st.integers(0, common(a, b)))
    found = agreement((one.chunks, one.starts), (two.chunks, two.starts), known)
    assert found == common(a, b)


def test_agreement_of_runs_that_begin_later_in_their_prompts() -> None:
    one = TokenSequence([chunk([9, 9]), chunk([1, 2, 3]), chunk([4])])
    two = TokenSequence([chunk([9, 9, 1]), chunk([2, 3, 5])])
    later = (one.chunks[1:], one.starts[1:])
    assert agreement(later, (two.chunks, two.starts), 2) == 5
