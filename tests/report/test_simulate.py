"""How a simulated fleet looks."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from cachediag.report.simulate import SimulateReport, labels, plus_minus, seconds
from cachediag.simulate.comparison import Compared, Fleet, Outcome
from cachediag.simulate.model import Change, Run, Server
from cachediag.verify.statistics import Estimate
from tests.simulate.made import SERVER, figures, workload


def shown(report, width=80, encoding="utf-8") -> list[str]:
    console = Console(file=StringIO(), width=width, color_system=None)
    options = console.options.update()
    options.encoding = encoding
    return [
        "".join(segment.text for segment in line).rstrip()
        for line in console.render_lines(report, options, pad=False)
    ]


def around(value: float, half: float) -> Estimate:
    return Estimate(value, value - half, value + half)


def compared(*policies: tuple[str, float, float], repeats: int = 5, **given) -> Compared:
    """Policies, each with the p90 of the time to first token and the half of its interval."""
    fleet = Fleet(workload=workload(), server=SERVER, replicas=4, repeats=repeats, **given)
    outcomes = [
        Outcome(
            name,
            figures(p50=around(p90 / 2, half), p90=around(p90, half), p99=around(2 * p90, half)),
            Run(name, 0),
            (p90,),
        )
        for name, p90, half in policies
    ]
    ceiling = Run("round-robin", 0, requests=214, input_tokens=1000, reused_tokens=640)
    return Compared(fleet, tuple(outcomes), ceiling)


FAR = (("random", 2.1, 0.2), ("sagemaker:PrefixLength=4096", 0.84, 0.1))


def test_a_policy_that_is_best_is_named_and_held_against_random() -> None:
    report = SimulateReport(
        compared(*FAR),
        ("prefill of 100 tokens a second: as given",),
        (("cachediag simulate --sweep", "the pair"),),
    )
    assert shown(report) == [
        "harbour   214 requests   4 replicas   5 runs of each",
        "cache of blocks, no limit   tokens exact, times estimate",
        "prefill 100, decode 10, of all 100 tokens/s   256 at once   latency 0.00 s",
        "",
        "sagemaker is best: 0.84 s to the first token at the 90th percentile, 60% less",
        "than random.",
        "Under sagemaker 50.0% of the prompt tokens are reused; one server that keeps",
        "everything would reuse 64.0%.",
        "",
        "                                                     time to first token, ± 95 %",
        "policy                  hit rate             p50             p90             p99",
        "random                    50.0 %    1.05 ±0.20 s    2.10 ±0.20 s    4.20 ±0.20 s",
        "sagemaker                 50.0 %    0.42 ±0.10 s    0.84 ±0.10 s    1.68 ±0.10 s",
        "",
        "                                        total time",
        "policy                    p50        p90        p99    req/s     tok/s   busiest",
        "random                 4.00 s     5.00 s     6.00 s     7.00      8.00      1.00",
        "sagemaker              4.00 s     5.00 s     6.00 s     7.00      8.00      1.00",
        "busiest: seconds that the busiest replica works, over the mean of all",
        "",
        "against random               time to first token          total time",
        "policy                   p50       p90       p99       p50       p90     req/s",
        "sagemaker             -60.0%    -60.0%    -60.0%     +0.0%     +0.0%     +0.0%",
        "",
        "                  time to first token   █ p50  ▒ p90  ░ p99",
        f"random            {'█' * 12}{'▒' * 11}{'░' * 23} 4.20 s",
        f"sagemaker         {'█' * 5}{'▒' * 4}{'░' * 9} 1.68 s",
        "",
        "sagemaker is sagemaker:PrefixLength=4096",
        "taken for granted",
        "- prefill of 100 tokens a second: as given",
        "",
        "next   cachediag simulate --sweep   the pair",
    ]


def answer(*policies: tuple[str, float, float], **given) -> str:
    return " ".join(shown(SimulateReport(compared(*policies, **given)))[4:7])


def test_no_policy_is_best_where_intervals_overlap() -> None:
    said = answer(("random", 2.1, 0.6), ("sglang", 1.5, 0.6), ("llm-d", 1.9, 0.1))
    assert "No one policy is best: sglang has 1.50 s" in said
    assert "which cannot be told from random and llm-d." in said


def test_of_many_equals_the_first_are_named() -> None:
    said = answer(*((name, 1.0, 0.1) for name in "abcdef"))
    assert "cannot be told from b, c, d and 2 more." in said


def test_one_run_names_no_best_policy() -> None:
    said = answer(("random", 2.1, 0), ("sglang", 1.5, 0), repeats=1)
    assert "sglang came first in the one run that was played" in said
    assert "is best" not in said


def test_the_best_is_held_against_the_slowest_where_random_is_not_played() -> None:
    assert "50% less than llm-d." in answer(("sglang", 1.0, 0), ("llm-d", 2.0, 0))


def test_one_policy_is_best_of_nothing() -> None:
    assert answer(("random", 2.1, 0.1)).startswith("random: 2.10 s to the first token")


def test_servers_are_told() -> None:
    made = compared(*FAR, changes=(Change(60, 2), Change(90, -1)))
    assert shown(SimulateReport(made))[1:5] == [
        "cache of blocks, no limit   tokens exact, times estimate",
        "prefill 100, decode 10, of all 100 tokens/s   256 at once   latency 0.00 s",
        "at 60 s 2 replicas join",
        "at 90 s 1 replica leaves",
    ]
    engine = Server(
        prefill_rate=37_000,
        decode_rate=75,
        batch_rate=3_500,
        latency=0.056,
        concurrency=4,
        engine="vllm",
    )
    fleet = Fleet(workload=replace(workload(), exact=False), server=engine, replicas=1)
    made = Compared(fleet, made.outcomes, made.ceiling)
    assert shown(SimulateReport(made))[1:3] == [
        "cache vllm   tokens estimate, times estimate",
        "prefill 37,000, decode 75, of all 3,500 tokens/s   4 at once   latency 56.0 ms",
    ]


def bars(*policies: tuple[str, float, float], **given) -> list[str]:
    lines = shown(SimulateReport(compared(*policies)), **given)
    start = next(number for number, line in enumerate(lines) if "█ p50" in line or "# p50" in line)
    return lines[start : start + 1 + len(policies)]


def test_one_slow_policy_is_cut_off_and_the_others_can_still_be_told_apart() -> None:
    """The middle p90 is 2 s, so what takes longer than 20 s is left out of the scale."""
    assert bars(("random", 2, 0), ("sglang", 1, 0), ("ray", 1500, 0)) == [
        "                  time to first token   █ p50  ▒ p90  ░ p99  > beyond 4.00 s",
        f"random            {'█' * 12}{'▒' * 11}{'░' * 23} 4.00 s",
        f"sglang            {'█' * 6}{'▒' * 6}{'░' * 11} 2.00 s",
        f"ray               {'█' * 46}> 3,000 s",
    ]


def test_bars_that_are_not_far_apart_are_not_cut() -> None:
    """The middle p90 is 2 s, and 20 s are within ten times that."""
    head, *_, last = bars(("random", 2, 0), ("sglang", 1, 0), ("ray", 10, 0))
    assert head.endswith("░ p99")
    assert last.endswith("░ 20.0 s")


def test_a_bar_alone_beyond_its_own_limit_is_cut_there() -> None:
    """Its p99 is thirty times its p90 of 2 s: the bar ends at ten times that."""
    made = compared(("random", 2, 0))
    times = figures(p50=around(1, 0), p90=around(2, 0), p99=around(60, 0))
    made = replace(made, outcomes=(replace(made.outcomes[0], figures=times),))
    head, bar, *_ = (line for line in shown(SimulateReport(made)) if "░" in line)
    assert head.endswith("░ p99  > beyond 20.0 s")
    assert bar == f"random            {'█' * 2}{'▒' * 3}{'░' * 41}> 60.0 s"


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_wraps(width) -> None:
    wide = (("least-outstanding", 1234.5, 100.0), ("production-stack:x=1", 99.9, 9.9))
    told = ("a long sentence " * 20,)
    assert all(len(line) <= width for line in shown(SimulateReport(compared(*wide), told), width))


def test_plain_letters_where_the_terminal_has_no_others() -> None:
    lines = shown(SimulateReport(compared(*FAR)), encoding="ascii")
    assert all(line.isascii() for line in lines)


def test_names_cannot_act_on_the_terminal() -> None:
    lines = shown(SimulateReport(compared(("evil\x1b[2J", 1.0, 0.0)), ("told\x1b[2J",)))
    assert not any("\x1b" in line for line in lines)


def test_labels_are_names_numbered_where_there_are_two() -> None:
    assert labels(["random", "sagemaker:a=1", "sagemaker:a=2"]) == {
        "random": "random",
        "sagemaker:a=1": "sagemaker 1",
        "sagemaker:a=2": "sagemaker 2",
    }
    assert all(
        len(label) < 18 for label in labels(["least-outstanding:x", "least-outstanding:y"]).values()
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00 s"), (0.0123, "12.3 ms"), (0.0999, "99.9 ms"), (0.5, "0.50 s"), (1234, "1,234 s")],
)
def test_seconds_have_three_figures(value, text) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(1.0, 0.5, 1.5), "1.00 ±0.50 s"),
        (Estimate(0.02, 0.01, 0.03), "20.0 ±10.0 ms"),
        (Estimate(12.34, 12.34, 12.34), "12.3 s"),
        (Estimate(12.34, 12.339, 12.341), "12.3 s"),
        (Estimate(2000, 500, 3500), "2,000 ±1,500 s"),
    ],
)
def test_an_interval_has_the_decimals_of_its_middle(estimate, text) -> None:
    assert plus_minus(estimate, "±") == text


def test_a_share_is_in_per_cent() -> None:
    assert plus_minus(Estimate(0.612, 0.601, 0.623), "±", percent=True) == "61.2 ±1.1 %"
