from hypothesis import given
from hypothesis import strategies as st

from cachediag.rules.engine import ordered
from cachediag.rules.engine.ordered import Ordered

_PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60)


@given(_PAIRS, st.integers(-1, 31), st.integers(0, 12))
def test_pairs_are_found_as_in_a_sorted_list(pairs, low, width):
    held = Ordered()
    before, ordered._MOST = ordered._MOST, 3
    try:
        for number, other in pairs:
            held.add(number, other)
    finally:
        ordered._MOST = before
    known = sorted(pairs)
    assert list(held.between(low, low + width)) == [p for p in known if low < p[0] < low + width]
    earlier = [pair for pair in known if pair[0] < low]
    assert held.last_before(low) == (earlier[-1] if earlier else None)


def test_many_pairs_are_held_in_small_pieces():
    held = Ordered()
    for number in range(20_000):
        held.add(number, 0)
        held.add(40_000 - number, 1)
    assert max(map(len, held._pieces)) <= ordered._MOST
    assert sum(map(len, held._pieces)) == 40_000
