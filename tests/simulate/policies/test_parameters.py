import pytest

from cachediag.errors import UsageError
from cachediag.simulate.policies.parameters import within


@pytest.mark.parametrize("value", [1, 2, 3])
def test_the_ends_are_within(value: int) -> None:
    assert within(1, 3, "n", value) == value


@pytest.mark.parametrize("value", [0, 4])
def test_what_is_outside_is_refused(value: int) -> None:
    with pytest.raises(UsageError, match=f"^n must be from 1 to 3, not {value}$"):
        within(1, 3, "n", value)


def test_a_float_that_is_no_number_is_within_nothing() -> None:
    with pytest.raises(UsageError, match=r"^n must be from 0.0 to 1.0, not nan$"):
        within(0.0, 1.0, "n", float("nan"))
