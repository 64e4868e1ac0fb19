"""When requests come: as recorded, faster, or at random."""

from itertools import islice, pairwise
from statistics import fmean, stdev

import pytest

from cachediag.errors import UsageError
from cachediag.simulate.workloads.arrivals import Arrivals, arrivals, check_load, poisson


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("recorded", Arrivals()),
        ("speed=2.5", Arrivals(speed=2.5)),
        ("rate=40", Arrivals(rate=40.0)),
    ],
)
def test_they_are_named_on_the_command_line(spec: str, meant: Arrivals) -> None:
    assert arrivals(spec) == meant


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("fast", "no arrivals are called 'fast'"),
        ("rate=", "no arrivals are called 'rate='"),
        ("rate=nan", "no arrivals are called 'rate=nan'"),
        ("recorded=1", "no arrivals are called 'recorded=1'"),
        ("speed=0", "the speed of arrivals must be above 0, not 0"),
        ("rate=-3", "the rate of arrivals must be above 0, not -3"),
        ("rate=inf", "the rate of arrivals must be above 0, not inf"),
    ],
)
def test_what_is_none_is_refused(spec: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        arrivals(spec)


def test_recorded_times_are_kept_or_divided() -> None:
    assert [Arrivals().clock(1)(time) for time in (0.0, 1.5)] == [0.0, 1.5]
    assert [Arrivals(speed=4).clock(1)(time) for time in (0.0, 6.0)] == [0.0, 1.5]


def test_a_rate_takes_no_heed_of_what_was_recorded() -> None:
    clock = Arrivals(rate=2).clock(5)
    assert [clock(0.0), clock(99.0)] == list(islice(poisson(2, 5), 2))


def test_random_times_have_the_rate_and_the_spread_of_a_poisson_process() -> None:
    gaps = [b - a for a, b in pairwise(islice(poisson(4, 3), 20_000))]
    # Exponential gaps deviate by as much as their mean.
    assert fmean(gaps) == pytest.approx(0.25, rel=0.03)
    assert stdev(gaps) == pytest.approx(0.25, rel=0.03)
    assert next(poisson(4, 3)) == next(poisson(4, 3)) != next(poisson(4, 4))


@pytest.mark.parametrize(
    ("rate", "clients", "ramp", "said"),
    [
        (None, None, 0, "either a rate or a number of clients"),
        (1, 1, 0, "either a rate or a number of clients"),
        (0, None, 0, "the rate must be above 0, not 0"),
        (None, 0, 0, "there must be 1 client or more, not 0"),
        (None, 2, -1, "no ramp is -1 seconds long here"),
        (1, None, 5, "no ramp is 5 seconds long here"),
    ],
)
def test_a_load_that_cannot_be_is_refused(
    rate: float | None, clients: int | None, ramp: float, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        check_load(rate, clients, ramp)
