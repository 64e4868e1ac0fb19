import pytest

from cachediag.verify.statistics import Estimate
from cachediag.verify.verdict import times, verdict
from tests.verify.measurements import arm, experiment, measured

SLOW = (9.0, 10.0, 11.0, 10.5, 9.5)
ALSO_SLOW = (10.2, 9.1, 10.4, 9.9, 11.2)
FAST = (0.4, 0.5, 0.6, 0.5, 0.45)
HIT = {"predicted": 900, "reused": 900}


def four(both=FAST, **hit):
    return experiment(
        arm("as-recorded", SLOW),
        arm("rules-only", ALSO_SLOW),
        arm("patch-only", SLOW[::-1]),
        arm("both", both, **(hit or HIT)),
    )


def test_two_fixes_that_only_work_together() -> None:
    made = verdict(four())
    assert made.kept
    assert made.sentences == (
        "Both together: 20 times faster warm turns.",
        "Neither alone changes anything that can be told from noise.",
    )
    assert made.effects.interaction is not None
    assert made.effects.interaction.value == pytest.approx(20.4)


def test_what_each_arm_comes_to() -> None:
    made = verdict(four())
    assert [each.arm.name for each in made.arms] == [
        "as-recorded",
        "rules-only",
        "patch-only",
        "both",
    ]
    both = made.arms[3]
    assert both.warm is not None
    assert both.cold is not None
    assert (both.warm.value, both.cold.value, both.first_token) == (0.5, 10.0, None)
    assert (both.prompt_tokens, both.predicted, both.reused, both.repeats) == (6000, 4500, 4500, 1)


def test_a_fix_that_does_it_alone() -> None:
    made = verdict(experiment(arm("as-recorded", SLOW), arm("rules-only", FAST, **HIT)))
    assert made.sentences == ("The rules: 20 times faster warm turns.",)
    assert (made.effects.patch, made.effects.both, made.effects.interaction) == (None, None, None)


def test_each_effect_is_told_where_one_of_them_is_real() -> None:
    made = verdict(
        experiment(
            arm("as-recorded", SLOW),
            arm("rules-only", [s * 1.5 for s in SLOW]),
            arm("patch-only", [s / 2 for s in SLOW]),
            arm("both", FAST, **HIT),
        )
    )
    assert made.sentences == (
        "Both together: 20 times faster warm turns.",
        "The rules alone: 1.5 times slower warm turns.",
        "The patch alone: 2.0 times faster warm turns.",
    )


def test_reuse_that_did_not_come_is_told_with_the_first_request() -> None:
    made = verdict(four(predicted=900, reused=31))
    assert not made.kept
    assert made.sentences[-1] == (
        "The reuse that was predicted did not come in both: 5 of 5 warm requests reused less, the "
        "first is request 1, 31 tokens of 900."
    )


def test_a_cold_request_promises_nothing() -> None:
    cold = measured("both", warm=False, predicted=40, reused=0)
    assert verdict(experiment([cold, *arm("both", FAST, **HIT)])).kept


def test_more_than_was_predicted_is_no_fault() -> None:
    assert verdict(four(predicted=900, reused=950)).kept


@pytest.mark.parametrize(("seconds", "kept"), [(FAST, True), (SLOW, False)])
def test_where_nothing_tells_what_was_reused_the_times_do(seconds, kept):
    silent = arm("both", seconds, predicted=900, reused=None)
    made = verdict(experiment([measured("both", warm=False, reused=None), *silent[1:]]))
    assert made.kept is kept
    assert made.arms[0].reused is None
    told = any("tells no counts" in sentence for sentence in made.sentences)
    assert told is not kept


def test_where_little_was_promised_the_times_say_nothing() -> None:
    silent = arm("as-recorded", SLOW, predicted=31, reused=None)
    assert verdict(experiment([measured("as-recorded", warm=False, reused=None), *silent])).kept


def test_auxiliary_requests_do_not_count_for_the_times() -> None:
    title = measured("both", index=9, is_turn=False, total=0.01, **HIT)
    made = verdict(experiment([*arm("both", FAST, **HIT), title]))
    assert made.arms[0].warm == verdict(experiment(arm("both", FAST, **HIT))).arms[0].warm
    assert made.arms[0].reused == 5400


def test_without_a_warm_turn_nothing_is_claimed() -> None:
    made = verdict(experiment([measured("as-recorded", warm=False)]))
    assert made.arms[0].warm is None
    assert made.sentences == (
        "No request has a prefix that a cache could have kept: there is no warm turn to time.",
    )


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (24.4, "24 times faster"),
        (2.04, "2.0 times faster"),
        (1.02, "1.02 times faster"),
        (0.5, "2.0 times slower"),
        (0.05, "20 times slower"),
    ],
)
def test_a_factor_in_words(factor, words):
    assert times(Estimate(factor, factor, factor)) == words
