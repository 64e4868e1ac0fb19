from hypothesis import given
from hypothesis import strategies as st

from cachediag.analysis.engines.prefix import Pending, prefix_key, window
from tests.analysis.engines.prompts import prompt

_PARTS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), max_size=5)


@given(a=_PARTS, b=_PARTS, length=st.integers(0, 20))
def test_a_key_is_that_of_the_prefix_alone(a, b, length: int) -> None:
    first, second = prompt(*a), prompt(*a, *b)
    length = min(length, len(first))
    assert prefix_key(first, length) == prefix_key(second, length)


def test_other_prefixes_have_other_keys() -> None:
    tokens, other = prompt([1, 2], [3, 4]), prompt([1, 2], [3, 5])
    assert len({prefix_key(tokens, length) for length in range(5)}) == 5
    assert prefix_key(tokens, 3) == prefix_key(other, 3)
    assert prefix_key(tokens, 4) != prefix_key(other, 4)


@given(parts=_PARTS, start=st.integers(0, 20), size=st.integers(0, 20))
def test_a_window_is_cut_across_chunks(parts, start: int, size: int) -> None:
    tokens = prompt(*parts)
    start = min(start, len(tokens))
    size = min(size, len(tokens) - start)
    if start == len(tokens):
        return
    expected = prompt(list(tokens)[start : start + size]).chunks[0].ids.tobytes()
    assert window(tokens, start, size) == expected


def test_what_is_pending_happens_in_the_order_of_time() -> None:
    pending, done = Pending(), []
    pending.add(3, lambda: done.append("three"))
    pending.add(2, lambda: done.append("two"))
    pending.add(None, lambda: done.append("at once"))
    pending.run(2)
    assert done == ["at once", "two"]
    pending.run(2.5)
    assert done == ["at once", "two"]
    pending.wait()
    assert done == ["at once", "two", "three"]


def test_where_no_time_is_known_everything_has_happened() -> None:
    pending, done = Pending(), []
    pending.add(10, lambda: done.append("ten"))
    pending.run(None)
    assert done == ["ten"]
