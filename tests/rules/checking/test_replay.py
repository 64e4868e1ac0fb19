"""A session under rules, side by side with the session as recorded."""

from hypothesis import given
from hypothesis import strategies as st

from cachediag.rules.checking.replay import Played, Replay
from tests.analysis.sessions import recorded
from tests.rules.trials import CCH, DROP, choice, rotating


def played(prompt, shared):
    return Played(prompt, shared, (shared,))


def test_a_longer_prefix_saves_what_is_not_prefilled_again():
    # Of 1,000 tokens 30 are taken out, and of the other 970 all but 20 are found.
    assert played(970, 950).gains(played(1_000, 3)) == (977, 977)


def test_a_shorter_prompt_saves_nothing_again():
    # The first of its conversation, and one of which all was found before.
    assert played(970, 0).gains(played(1_000, 0)) == (0, 0)
    assert played(970, 950).gains(played(1_000, 980)) == (0, 0)


def test_a_shorter_prefix_loses_tokens():
    assert played(1_000, 500).gains(played(1_000, 980)) == (-480, -480)


def test_a_longer_prompt_with_as_long_a_prefix_loses_what_is_longer():
    assert played(1_010, 980).gains(played(1_000, 980)) == (-10, -10)


@given(*[st.integers(0, 100)] * 4)
def test_no_more_is_gained_than_is_not_prefilled(a, b, c, d):
    before, after = played(max(a, b), min(a, b)), played(max(c, d), min(c, d))
    (gain, _) = after.gains(before)
    assert gain <= max(0, (before.prompt - before.shared) - (after.prompt - after.shared))
    assert before.gains(before) == (0, 0)


def test_each_choice_of_rules_is_played_once():
    replay = Replay((DROP, CCH), choice(), ("sglang",))
    steps = [replay.step(exchange) for exchange in recorded(rotating())]
    names = {frozenset(names) for names in ((), ("strip-header",), ("still-cch",))}
    assert all(step and set(step.played) == names | {replay.all} for step in steps)
    last = steps[-1]
    assert last is not None
    none, both = last.played[frozenset()], last.played[replay.all]
    assert none.shared < both.shared
    assert last.whole == (False, True)
    assert steps[0] is not None
    assert steps[0].whole is None


def test_a_request_that_no_rule_changes_is_the_same_to_all():
    bodies = rotating()
    for made in bodies:
        made["system"] = made["system"][1:]
    replay = Replay((DROP, CCH), choice(), ("sglang",))
    for exchange in recorded(bodies):
        step = replay.step(exchange)
        assert step is not None
        assert step.alone == {}
        assert step.together.body is exchange.request
        assert len(set(step.played.values())) == 1
