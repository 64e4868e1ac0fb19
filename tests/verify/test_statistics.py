from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.verify.statistics import effects, middle

SECONDS = st.lists(st.floats(0.01, 100), min_size=1, max_size=12)


def test_two_fixes_that_work_only_together() -> None:
    found = effects(
        {
            "as-recorded": [16.0, 15.0, 17.0],
            "rules-only": [16.0, 16.5, 15.5],
            "patch-only": [16.0, 15.0, 17.0],
            "both": [0.5, 0.6, 0.4],
        }
    )
    assert found.rules
    assert found.rules.value == 1
    assert found.rules.is_noise
    assert found.patch
    assert found.patch.value == 1
    assert found.both
    assert found.both.value == 32
    assert not found.both.is_noise
    assert found.interaction
    assert found.interaction.value == 32
    assert found.interaction.low > 20


def test_two_fixes_that_are_independent() -> None:
    found = effects({"as-recorded": [8.0], "rules-only": [4.0], "patch-only": [2.0], "both": [1.0]})
    assert found.rules
    assert found.rules.value == 2
    assert found.patch
    assert found.patch.value == 4
    assert found.interaction
    assert found.interaction.value == 1


def test_an_arm_that_was_not_run_leaves_its_effects_out() -> None:
    found = effects({"as-recorded": [8.0], "rules-only": [4.0]})
    assert found.rules
    assert found.rules.value == 2
    assert found.patch is found.both is found.interaction is None
    assert middle([]) is None


@settings(max_examples=20, deadline=None)
@given(SECONDS)
def test_a_median_lies_in_its_interval_and_that_among_the_measurements(samples):
    found = middle(samples)
    assert found is not None
    assert found.value == median(samples)
    assert min(samples) <= found.low <= found.value <= found.high <= max(samples)


@settings(max_examples=20, deadline=None)
@given(SECONDS, st.integers(0, 9))
def test_the_same_measurements_give_the_same_interval(samples, seed):
    assert middle(samples, seed) == middle(samples, seed)


def test_more_measurements_narrow_the_interval() -> None:
    few, many = middle([1.0, 2.0, 3.0]), middle([1.0, 2.0, 3.0] * 40)
    assert few
    assert many
    assert many.high - many.low <= few.high - few.low
    assert few.high - few.low == pytest.approx(2.0)
