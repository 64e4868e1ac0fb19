"""What each rule does to one request."""

from dataclasses import replace

import pytest

from cachediag.errors import InputError, UsageError
from cachediag.model import Excerpt
from cachediag.rules.explain import explain
from cachediag.rules.rule import Rule, RuleSet
from tests.analysis.sessions import recorded
from tests.compare.bodies import tool
from tests.rules.trials import CCH, DROP, in_system, rotating, steady

HEAD = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch="


def explained(bodies, *rules, number=None, **places):
    return explain("made", recorded(bodies, **places), RuleSet(rules), number)


def test_a_dropped_block_is_shown_whole_and_nothing_stands_there_after():
    (rule,) = explained(rotating(), DROP, number=1).rules
    (shown,) = rule.shown
    text = f"{HEAD}00001;"
    assert shown.before == Excerpt(text, 0, len(text))
    assert shown.after is None
    assert (shown.change.path, shown.change.before) == ("system[0]", text)


def test_a_replaced_piece_is_shown_in_its_line():
    made = explained(rotating(), CCH, number=2)
    assert made.info is not None
    assert made.info.index == 2
    (shown,) = made.rules[0].shown
    assert shown.after is not None
    assert shown.before.text.endswith("cc_entrypoint=cli; cch=00002;")
    assert shown.before.text[shown.before.start : shown.before.end] == "00002"
    assert shown.after.text.endswith("cc_entrypoint=cli; cch=00000;")
    assert shown.after.text[shown.after.start : shown.after.end] == "00000"


def test_every_piece_at_a_place_is_shown_where_it_stands():
    rule = Rule("ids", "V03", "replace", "messages", "system[1].text", r"^Id: ([a-z0-9]{4})", "x")
    bodies = [in_system(made, "Id: a1b2 one\nId: a1b2 two\nend") for made in steady(count=1)]
    (one,) = explained(bodies, rule).rules
    assert [shown.before.text for shown in one.shown] == ["Id: a1b2 one", "Id: a1b2 two"]
    assert [shown.after.text for shown in one.shown if shown.after] == ["Id: x one", "Id: x two"]


def test_what_is_moved_leaves_its_place():
    rule = Rule("now", "V02", "move-to-end", "messages", "system[1].text", r"^(Now: [0-9:]{5})")
    bodies = [in_system(made, "First.\nNow: 12:30 there") for made in steady(count=1)]
    (shown,) = explained(bodies, rule).rules[0].shown
    assert shown.before == Excerpt("Now: 12:30 there", 0, 10)
    assert shown.after is None


def test_sorted_tools_are_shown_from_where_the_orders_part():
    rule = Rule("tools", "O01", "sort", "messages", "tools", by="name")
    (made,) = steady(count=1)
    made["tools"] = [tool("Bash", "b"), tool("Read", "r"), tool("Grep", "g")]
    (shown,) = explained([made], rule).rules[0].shown
    assert shown.after is not None
    assert (shown.before.text, shown.after.text) == ("Bash, Read, Grep", "Bash, Grep, Read")
    assert shown.before.start == shown.after.start == len("Bash, ")


def test_a_pinned_value_is_the_first_of_the_conversation():
    rule = Rule("pin", "V05", "pin", "messages", "system[1].text", r"^Branch: ([a-z0-9]{1,20})")
    bodies = [in_system(made, f"Branch: b{n}") for n, made in enumerate(steady())]
    (shown,) = explained(bodies, rule, number=2).rules[0].shown
    assert shown.after is not None
    assert (shown.before.text, shown.after.text) == ("Branch: b2", "Branch: b0")
    assert explained(bodies, rule, number=0).rules[0].shown == ()


def test_the_last_request_that_a_rule_changes_is_taken_where_none_is_named():
    bodies = rotating(3)
    bodies[2]["system"] = bodies[2]["system"][1:]
    made = explained(bodies, DROP)
    assert made.info is not None
    assert made.info.index == 1


def test_a_disabled_rule_shows_what_it_would_do():
    (rule,) = explained(rotating(), replace(DROP, enabled=False)).rules
    assert len(rule.shown) == 1


def test_no_request_is_shown_where_no_rule_changes_any():
    made = explained(rotating(), replace(DROP, protocol="chat"))
    assert made.info is None
    assert [each.rule.id for each in made.rules] == ["strip-header"]


def test_a_request_that_is_not_there_and_one_that_calls_no_model():
    with pytest.raises(UsageError, match="no request 9: it holds 4"):
        explained(rotating(), DROP, number=9)
    with pytest.raises(InputError, match="request 1 calls no model"):
        explained(rotating(), DROP, number=1, endpoints={1: "other"})


def test_a_body_that_cannot_be_read_is_passed_over_unless_it_is_asked_for():
    bodies = [*rotating(2), b"{not json"]
    made = explained(bodies, DROP)
    assert made.info is not None
    assert made.info.index == 1
    with pytest.raises(InputError, match="JSON"):
        explained(bodies, DROP, number=2)
