from array import array
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.simulate.figures import _student, summarise
from cachediag.simulate.model import Run
from cachediag.verify.statistics import Estimate


def run(**given) -> Run:
    return Run(**{"policy": "random", "seed": 0, "busy": (1.0,), **given})


def test_one_run_has_its_own_figures_and_no_interval() -> None:
    times = array("d", [5, 1, 2, 4, 3, 10, 6, 7, 9, 8])
    figures = summarise(
        [
            run(
                requests=10,
                input_tokens=400,
                reused_tokens=100,
                output_tokens=80,
                blocks=32,
                blocks_reused=4,
                seconds=20.0,
                ttft=times,
                total=array("d", [2 * time for time in times]),
                busy=(3.0, 5.0, 4.0),
            )
        ]
    )
    assert figures.hit_rate == Estimate(0.25, 0.25, 0.25)
    assert figures.block_hit_rate.value == 0.125
    assert [figures.ttft.p50.value, figures.ttft.p90.value, figures.ttft.p99.value] == [5, 9, 10]
    assert [figures.total.p50.value, figures.total.p90.value, figures.total.p99.value] == [
        10,
        18,
        20,
    ]
    assert figures.requests_per_second.value == 0.5
    assert figures.tokens_per_second.value == 4.0
    assert figures.imbalance.value == 1.25


def test_the_interval_is_that_of_student() -> None:
    """Hit rates 0.2, 0.3, 0.4: mean 0.3, deviation 0.1, 4.3027 * 0.1 / sqrt(3) = 0.24842."""
    runs = [run(input_tokens=10, reused_tokens=reused) for reused in (2, 3, 4)]
    rate = summarise(runs).hit_rate
    assert rate.value == pytest.approx(0.3)
    assert rate.low == pytest.approx(0.3 - 0.24842, abs=1e-5)
    assert rate.high == pytest.approx(0.3 + 0.24842, abs=1e-5)


def test_equal_runs_have_an_interval_of_no_width() -> None:
    rate = summarise([run(input_tokens=8, reused_tokens=2)] * 4).hit_rate
    assert rate == Estimate(0.25, 0.25, 0.25)


def test_a_run_of_nothing_has_figures() -> None:
    figures = summarise([run(busy=())])
    assert figures.hit_rate.value == figures.ttft.p99.value == 0
    assert figures.requests_per_second.value == 0
    assert figures.imbalance.value == 1


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (9, 2.2622), (10, 2.2281), (30, 2.0423), (120, 1.9799)],
)
def test_quantiles_of_student(freedom: int, quantile: float) -> None:
    assert _student(freedom) == pytest.approx(quantile, abs=1e-3)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=250), st.sampled_from([50, 90, 99]))
def test_a_percentile_is_the_least_time_that_enough_did_not_exceed(times, percent) -> None:
    figures = summarise([run(ttft=array("d", times))])
    value = getattr(figures.ttft, f"p{percent}").value
    needed = ceil(Fraction(percent * len(times), 100))
    assert value in times
    assert sum(time <= value for time in times) >= needed
    assert sum(time < value for time in times) < needed
