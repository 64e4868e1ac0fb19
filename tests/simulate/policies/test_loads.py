import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.simulate.policies.loads import draws, least_loaded, one_of
from tests.simulate.fleet import fleet


@pytest.mark.parametrize(("drawn", "index"), [(0.0, 1), (0.33, 1), (0.34, 3), (0.67, 4), (0.99, 4)])
def test_of_three_equals_each_has_a_third(drawn: float, index: int) -> None:
    assert one_of([5, 2, 3, 2, 2], 2, lambda: drawn) == index


def test_nothing_is_drawn_where_one_is_best() -> None:
    assert one_of([5.0, 2.0], 2.0, lambda: pytest.fail("drawn")) == 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.integers(0, 99))
def test_none_is_less_loaded(loads: list[int], seed: int) -> None:
    replicas = fleet("012345678"[: len(loads)], outstanding=loads)
    assert least_loaded(replicas, draws(seed)).outstanding == min(loads)
