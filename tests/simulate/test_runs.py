from array import array

import pytest
from hypothesis import given, settings

from cachediag.heads import common_head
from cachediag.simulate.runs import agreement, packed
from tests.simulate.prompts import chained, digits


@settings(deadline=None)
@given(digits, digits, digits.filter(bool), digits)
def test_they_agree_up_to_where_the_prompts_part(head, tail, run, other) -> None:
    """A run behind some blocks, and a prompt that goes on from these with the run's first."""
    keys = chained(head + run + tail)[len(head) :]
    prompt = chained(head + run[0] + other)
    expected = common_head(run + tail, run[0] + other)
    assert agreement(keys, prompt, len(head)) == expected
    assert agreement(packed(keys), prompt, len(head)) == expected


@pytest.mark.parametrize("keys", [(1, 2, -(2**63)), (2**63 - 1,)])
def test_keys_of_64_bits_are_packed(keys: tuple[int, ...]) -> None:
    assert packed(keys) == array("q", keys)
    assert tuple(packed(keys)) == keys


@pytest.mark.parametrize("keys", [(1, 2**63), (-(2**63) - 1,)])
def test_larger_ones_stay_as_they_are(keys: tuple[int, ...]) -> None:
    assert packed(keys) is keys
