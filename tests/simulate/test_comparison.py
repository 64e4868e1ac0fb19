"""Policies compared: which is best, which cannot be told from it, and what there is to reuse."""

import pytest

from cachediag.errors import UsageError
from cachediag.simulate.comparison import Compared, Fleet, Outcome, ceiling, compare
from cachediag.simulate.model import Run, Scale, Server, Workload
from cachediag.verify.statistics import Estimate
from tests.simulate.made import SERVER, figures, workload


def outcome(policy: str, p90: Estimate) -> Outcome:
    return Outcome(policy, figures(p90=p90), Run(policy, 0), (p90.value,))


def compared(*outcomes: Outcome, repeats: int = 5) -> Compared:
    fleet = Fleet(workload=workload(), server=SERVER, replicas=2, repeats=repeats)
    return Compared(fleet, outcomes, Run("round-robin", 0))


def test_the_best_has_the_lowest_p90_and_its_equals_overlap_with_it() -> None:
    made = compared(
        outcome("slow", Estimate(3.0, 2.5, 3.5)),
        outcome("best", Estimate(1.0, 0.5, 1.5)),
        outcome("near", Estimate(2.0, 1.5, 2.5)),
    )
    assert made.best.policy == "best"
    assert [each.policy for each in made.equals] == ["near"]


def test_one_run_tells_no_policy_from_another() -> None:
    exactly = [Estimate(value, value, value) for value in (1.0, 9.0)]
    made = compared(*(outcome(str(each.value), each) for each in exactly), repeats=1)
    assert [each.policy for each in made.equals] == ["9.0"]


def test_every_policy_is_given_the_same_requests() -> None:
    """Two replicas, blocks of 4 tokens, three requests of the same prompt of two blocks.

    | request | arrives | round-robin | finds |
    |---|---|---|---|
    | 0 | 0 s | replica 0 | nothing |
    | 1 | 100 s | replica 1 | nothing |
    | 2 | 200 s | replica 0 | block 1; the last token of the prompt is always prefilled |

    One server that keeps everything finds that in requests 1 and 2.
    """
    fleet = Fleet(workload=workload((0, 100, 200)), server=SERVER, replicas=2, repeats=2)
    told: list[tuple[str, int, int]] = []
    made = compare(fleet, ["round-robin"], lambda *row: told.append(row))
    (of,) = made.outcomes
    assert of.sample.requests == made.ceiling.requests == 3
    assert of.sample.blocks_reused * 2 == made.ceiling.blocks_reused
    assert of.figures.hit_rate.value * 2 == made.ceiling.reused_tokens / made.ceiling.input_tokens
    assert told == [
        ("one server that keeps everything", 0, 3),
        ("round-robin", 1, 3),
        ("round-robin", 2, 3),
    ]


def test_the_ceiling_does_not_hang_on_what_servers_can_do() -> None:
    slow = Server(prefill_rate=1, decode_rate=1, batch_rate=1, capacity=1, concurrency=1)
    for server in (slow, SERVER):
        fleet = Fleet(workload=workload((0, 0, 0)), server=server, replicas=2)
        assert ceiling(fleet).blocks_reused == 4


def test_a_policy_that_there_is_not_is_told_before_anything_is_played() -> None:
    def requests(_: int):
        raise AssertionError

    fleet = Fleet(workload=Workload("x", Scale(4), requests), server=SERVER, replicas=1)
    with pytest.raises(UsageError, match="no routing policy is called 'nope'"):
        compare(fleet, ["random", "nope"])
