from array import array

from hypothesis import given
from hypothesis import strategies as st

from cachediag.heads import common_head

_ITEMS = st.lists(st.integers(0, 2), max_size=300)


def _plain(a, b):
    pairs = enumerate(zip(a, b, strict=False))
    return next((n for n, (x, y) in pairs if x != y), min(len(a), len(b)))


@given(_ITEMS, _ITEMS, st.integers(0, 200), st.integers(0, 5), st.integers(0, 5))
def test_it_is_what_comparing_one_by_one_gives(a, b, shared, at_a, at_b):
    a, b = [1] * shared + a, [1] * shared + b
    expected = _plain(a[at_a:], b[at_b:])
    assert common_head(tuple(a), tuple(b), at_a, at_b) == expected
    assert common_head(bytes(a), bytes(b), at_a, at_b) == expected
    assert common_head(array("I", a), array("I", b), at_a, at_b) == expected
    assert common_head("".join(map(str, a)), "".join(map(str, b)), at_a, at_b) == expected


@given(st.integers(0, 200_000), st.integers(0, 3))
def test_long_ones_too(shared, at):
    a, b = b"." * 200_000, b"." * shared + b"x"
    assert common_head(a, b, at, at) == max(0, min(shared, 200_000) - at)
