"""Amounts that vary: their means, their limits, and what is no amount."""

import math
import random
from statistics import fmean, stdev

import pytest

from cachediag.errors import UsageError
from cachediag.simulate.workloads.amounts import Amount, Spread, counts, described, values


def drawn(amount: Amount, number: int = 20_000) -> list[float]:
    draw = values(amount, random.Random(7))
    return [draw() for _ in range(number)]


def test_a_number_is_always_itself_and_takes_no_randomness() -> None:
    source = random.Random(7)
    assert [values(2.5, source)(), counts(200, source)(), counts(0, source)()] == [2.5, 200, 1]
    assert source.random() == random.Random(7).random()


def test_a_mean_and_a_deviation_are_those_of_what_is_drawn() -> None:
    found = drawn(Spread(mean=200, deviation=100))
    assert fmean(found) == pytest.approx(200, rel=0.02)
    assert stdev(found) == pytest.approx(100, rel=0.05)
    logarithms = [math.log(each) for each in found]
    # Log-normal: the middle lies where sqrt(1 + (100/200)**2) divides the mean.
    assert fmean(logarithms) == pytest.approx(math.log(200 / math.sqrt(1.25)), abs=0.02)


def test_values_outside_the_limits_are_set_to_them() -> None:
    found = drawn(Spread(mean=200, deviation=100, least=150, most=250), 1_000)
    assert (min(found), max(found)) == (150, 250)


def test_without_a_mean_all_values_are_alike() -> None:
    draw = counts(Spread(least=2, most=4), random.Random(7))
    found = [draw() for _ in range(9_000)]
    assert set(found) == {2, 3, 4}
    assert all(found.count(each) == pytest.approx(3_000, rel=0.1) for each in (2, 3, 4))


def test_a_count_is_one_or_more() -> None:
    draw = counts(Spread(mean=1, deviation=3), random.Random(7))
    assert min(draw() for _ in range(1_000)) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"least": 3, "most": 2}, "no amount is from 3 to 2"),
        ({"least": -1, "most": 2}, "no amount is from -1 to 2"),
        ({"least": 3}, "an amount needs a mean, or least and most alone"),
        ({"least": 1, "most": 2, "deviation": 1}, "an amount needs a mean"),
        ({"mean": 0}, "no amount has the mean 0 and the deviation 0"),
        ({"mean": 5, "deviation": -1}, "no amount has the mean 5 and the deviation -1"),
    ],
)
def test_what_is_no_amount_is_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Spread(**given)


def test_it_can_be_said_in_words() -> None:
    assert described(8_000) == "8,000"
    assert described(Spread(mean=200, deviation=50)) == "200 ± 50 (log-normal)"
    assert described(Spread(least=1, most=9)) == "1 to 9 (even)"
    assert described(Spread(mean=5, most=9)) == "5 ± 0 (log-normal, 0 to 9)"
    assert described(Spread(mean=5, least=2)) == "5 ± 0 (log-normal, 2 or more)"
