import json
from dataclasses import replace

import pytest

from cachediag.analysis.choice import choose
from cachediag.errors import UsageError
from cachediag.session.source import MemorySource
from cachediag.verify.arms import ARMS
from cachediag.verify.plan import Bill, plan
from tests.verify.sessions import STRIP, choice, session, turn

TITLE = turn(0, system="Write a short title.", tools=False)


def quiet(_: str) -> None:
    raise AssertionError("nothing is left out")


def test_each_request_is_planned_as_recorded_and_under_the_rules() -> None:
    made = plan(session(), [STRIP], choice(), quiet)
    assert [each.index for each in made.recorded] == [0, 1, 2, 3]
    assert made.recorded[1].exchange.request == turn(1)
    assert made.changed is not None
    without = json.loads(turn(1))
    del without["system"][0]
    assert json.loads(made.changed[1].exchange.request) == without
    assert made.exact


def test_a_turn_is_warm_in_every_arm_where_rules_make_it_so() -> None:
    made = plan(session(), [STRIP], choice(), quiet)
    assert made.changed is not None
    for requests in (made.recorded, made.changed):
        assert [each.warm for each in requests] == [False, True, True, True]
    # Some tokens open every prompt.
    assert all(each.predicted < 40 for each in made.recorded)
    assert [each.predicted > 200 for each in made.changed] == [False, True, True, True]


def test_a_turn_is_warm_without_rules_too_where_its_cause_could_be_removed() -> None:
    made = plan(session(), [], choice("none"), quiet)
    assert made.changed is None
    assert [each.warm for each in made.recorded] == [False, True, True, True]


def test_another_conversation_is_cold_though_it_has_the_same_tools() -> None:
    other = "You search the harbour's plans and report what you found, and nothing else. " * 8
    bodies = [turn(0), turn(0, system=other), turn(1), turn(1, system=other), turn(0)]
    made = plan(session(*bodies), [STRIP], choice(), quiet)
    # The last one begins anew what was said before.
    assert [each.warm for each in made.recorded] == [False, False, True, True, True]


def test_an_arm_sends_what_it_is_about() -> None:
    made = plan(session(), [STRIP], choice(), quiet)
    stock, rules, patch, both = (made.requests(arm) for arm in ARMS)
    assert stock is patch is made.recorded
    assert rules is both is made.changed


def test_a_lane_and_a_number_choose_requests() -> None:
    opened = session(turn(0), TITLE, turn(1), turn(2))
    whole = plan(opened, [], choice(), quiet)
    assert [(each.lane, each.is_turn) for each in whole.recorded] == [
        ("main", True),
        ("title", False),
        ("main", True),
        ("main", True),
    ]
    one = plan(opened, [STRIP], choice(), quiet, lane="main", most=2)
    assert one.changed is not None
    assert [each.index for each in one.recorded] == [each.index for each in one.changed] == [0, 2]
    alone = plan(opened, [], choice(), quiet, lane="title")
    # There is nothing else to time.
    assert [each.is_turn for each in alone.recorded] == [True]


def test_a_lane_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UsageError) as told:
        plan(session(turn(0), TITLE), [], choice(), quiet, lane="agent")
    assert told.value.remedy == "Its lanes: main, title."


def test_what_calls_no_model_is_not_sent() -> None:
    opened = session(turn(0), turn(1))
    counts = replace(opened.items[0].info, endpoint="count_tokens")
    other = MemorySource("x", (replace(opened.items[0], info=counts), opened.items[1]))
    assert [each.index for each in plan(other, [], choice(), quiet).recorded] == [1]


def test_a_body_that_cannot_be_read_is_left_out_and_told() -> None:
    told: list[str] = []
    made = plan(session(turn(0), b"{", turn(1)), [], choice(), told.append)
    assert [each.index for each in made.recorded] == [0, 2]
    assert len(told) == 1
    assert told[0].startswith("request 1 is left out: ")


def test_the_price_is_that_of_all_that_is_sent() -> None:
    hosted = choose("messages")
    bodies = [turn(n).replace(b'"recorded"', b'"claude-sonnet-4-5"') for n in range(2)]
    opened = session(*bodies)
    named = [
        replace(each, info=replace(each.info, model="claude-sonnet-4-5")) for each in opened.items
    ]
    made = plan(MemorySource("x", tuple(named)), [], hosted, quiet)
    once = made.bills[0].usd
    assert once is not None
    assert 0 < once < 0.1
    assert made.price(ARMS[:1], 3).usd == pytest.approx(3 * once)
    assert plan(session(), [], choice(), quiet).price(ARMS[:1], 3) == Bill(None, None)
