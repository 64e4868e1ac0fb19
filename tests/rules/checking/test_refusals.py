"""When tokens that rules cost are a loss, and when they are rounding."""

import pytest

from cachediag.rules.checking.refusals import Outcome, Refusals
from tests.rules.trials import CCH, DROP

NONE: frozenset[str] = frozenset()
ONE = frozenset(("strip-header",))
BOTH = ONE | {"still-cch"}


def outcome(gains, requests=10, prompt_tokens=10_000):
    touched = {"strip-header": 4, "still-cch": 4}
    return Outcome(gains, touched, requests, prompt_tokens, "sglang")


@pytest.mark.parametrize(
    ("row", "lost"),
    [
        ((0, 0), 0),
        ((500, 400), 0),
        ((-10, 0), 0),
        ((-11, 0), 11),
        ((0, -100), 0),
        ((0, -101), 101),
        ((500, -101), 101),
    ],
)
def test_a_token_a_request_and_a_hundredth_by_an_engine_are_rounding(row, lost):
    assert outcome({NONE: (0, 0), ONE: row}).lost(ONE, NONE) == lost


def test_only_the_rule_that_costs_tokens_is_named():
    refusals = Refusals((DROP, CCH))
    gains = {NONE: (0, 0), ONE: (900, 900), frozenset(("still-cch",)): (-50, -50), BOTH: (600, 600)}
    refusals.judge(outcome(gains))
    assert ("lowers-reuse", ("still-cch",)) in refusals.found
    assert ("lowers-reuse", ("strip-header",)) not in refusals.found
    assert "300 tokens more" in refusals.found["lowers-reuse", ("still-cch",)].message


def test_rules_that_cost_tokens_only_together_are_named_together():
    refusals = Refusals((DROP, CCH))
    # Either alone costs as much as both.
    gains = {NONE: (0, 0), **dict.fromkeys((ONE, BOTH - ONE, BOTH), (-50, -50))}
    refusals.judge(outcome(gains))
    assert [names for reason, names in refusals.found if reason == "lowers-reuse"] == [
        ("strip-header", "still-cch")
    ]
