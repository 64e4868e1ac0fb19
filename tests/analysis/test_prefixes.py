from hypothesis import given
from hypothesis import strategies as st

from cachediag.analysis.prefixes import Prefixes

_DIGESTS = st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=8).map(tuple)


def _shared(a, b):
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


@given(st.lists(_DIGESTS, max_size=12), _DIGESTS)
def test_the_longest_prefix_is_that_of_all_pairs(earlier, asked):
    prefixes = Prefixes()
    for index, digests in enumerate(earlier):
        prefixes.add(index, digests)
    found = prefixes.longest(asked)
    best = max((_shared(digests, asked) for digests in earlier), default=0)
    assert found.shared == best
    if best:
        assert _shared(earlier[found.request], asked) == best
        assert found.is_whole == any(digests == asked[:best] for digests in earlier)
        if found.is_whole:
            assert earlier[found.request] == asked[:best]


def test_a_long_talk_takes_a_node_a_request():
    prefixes = Prefixes()
    digests = tuple(str(n).encode() for n in range(1000))
    for index in range(1, 1000):
        prefixes.add(index, digests[:index])
    assert prefixes.longest(digests).request == 999
    assert prefixes.longest(digests).is_whole
