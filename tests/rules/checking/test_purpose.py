"""Whether what a rule changes is what its finding is about."""

import json
from dataclasses import replace

import pytest

from cachediag.rules.checking.purpose import beyond_purpose, shows_kind
from cachediag.rules.engine.applied import Change
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.rule import Rule
from tests.compare.bodies import HEADER

LINE = HEADER.format("6c09a")


def sent(text, **fields):
    return json.dumps(
        {"system": [{"type": "text", "text": text}], "messages": [], **fields}
    ).encode()


def rule(finding, pattern, action="replace", path="system[0].text", **fields):
    fields = {"value": "0"} | fields if action == "replace" else fields
    return Rule("r", finding, action, "messages", path, pattern, **fields)


def wrong(made, body):
    """What is wrong with each change that a rule makes."""
    applied = apply_rules(body, "messages", [made])
    assert applied.changes
    return [beyond_purpose(made, change, body, applied.body) for change in applied.changes]


def shown(made, body):
    applied = apply_rules(body, "messages", [made])
    assert applied.changes
    return [shows_kind(made, change, body) for change in applied.changes]


CCH = r"^x-anthropic-billing-header: [ -~]{1,99}cch=([0-9a-f]{5});"


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (rule("V01", CCH), LINE),
        (rule("V01", CCH), f"{LINE}\nYou are an agent."),
        (rule("V01", r"\A(x-anthropic-billing-header: [ -~]{1,200};\n)", value=""), f"{LINE}\nYou"),
        (rule("V01", r"\Ax-[ -~]{1,200};\n?\z", "drop-block", "system[0]"), LINE),
        (rule("V01", r"\Ax-[ -~]{1,200};\n?\z", "drop-block", "system[0]"), f"{LINE}\n"),
        (rule("V02", r"^Today is ([-0-9]{10})"), "Today is 2026-11-29."),
        (rule("V06", r"^Note: ([a-z ]{1,40})"), "Note: mind the tide"),
        (rule("E01", r"^Mind( +)the tide", value=" "), "Mind   the tide"),
    ],
)
def test_what_the_finding_is_about_may_be_changed(made, text):
    assert wrong(made, sent(text)) == [None]


@pytest.mark.parametrize(
    ("made", "text", "message"),
    [
        (rule("V01", r"^You are (an agent)"), f"{LINE}\nYou are an agent", "no billing header"),
        (rule("V01", r"\A(x-[ -~]{1,200};\nYou)"), f"{LINE}\nYou are", "no billing header"),
        (
            rule("V01", r"\Ax-[\s\S]{1,200}\z", "drop-block", "system[0]"),
            f"{LINE}\nYou are",
            "no billing header",
        ),
        (rule("V01", r"^A log: ([ -~]{1,200})"), f"A log: {LINE}", "no billing header"),
        (rule("O03", r"^Agents: ([a-z ,]{1,40})"), "Agents: b, a, c", "does not sort"),
        (rule("V02", r"^Mind (the tide)"), "Mind the tide", "shows no date or time"),
        (rule("E01", r"^Mind( +the) tide", value=" a"), "Mind   the tide", "than white space"),
    ],
)
def test_other_text_is_beyond_it(made, text, message):
    (found,) = wrong(made, sent(text))
    assert found is not None
    assert message in found


def test_sorting_changes_the_order_alone():
    tools = [{"name": "B", "input_schema": {"b": 1.0, "a": [2, 1]}}, {"name": "A"}]
    body = sent("Agents: c, a, b\n- two\n- one", tools=tools)
    for made in (
        Rule("r", "O01", "sort", "messages", "tools", by="name"),
        Rule("r", "O02", "sort", "messages", "tools[*].input_schema", by="keys"),
        rule("O03", r"^Agents: ([a-z, ]{1,40})", "sort", by="items"),
        rule("O03", r"^(- two\n- one)", "sort", by="lines"),
    ):
        assert wrong(made, body) == [None]


@pytest.mark.parametrize(
    ("by", "path", "before", "after"),
    [
        ("name", "tools", '[{"name":"B"},{"name":"A"}]', '[{"name":"A"}]'),
        ("name", "tools", '[{"name":"B","x":1.0}]', '[{"name":"B","x":1.00}]'),
        (
            "keys",
            "tools[0].input_schema",
            '[{"input_schema":{"a":1}}]',
            '[{"input_schema":{"a":2}}]',
        ),
        ("lines", "tools[0].name", '[{"name":"b\\na"}]', '[{"name":"a\\nc"}]'),
    ],
)
def test_a_sort_that_changes_more_is_found_out(by, path, before, after):
    made = Rule("r", "O01", "sort", "messages", path, by=by)
    change = Change("r", path, "", "", 1)
    bodies = [f'{{"tools":{tools}}}'.encode() for tools in (before, after)]
    assert beyond_purpose(made, change, *bodies) == "changes more than the order"


def test_what_is_no_part_of_the_prompt_is_not_for_rules():
    made = rule("V03", r"\A(.{4})", path="metadata.user_id")
    change = Change("r", "metadata.user_id", "abcd", "0", 4)
    assert beyond_purpose(made, change, b"{}", b"{}") == "changes what is no part of the prompt"


@pytest.mark.parametrize(
    ("made", "text", "expected"),
    [
        (rule("V02", r"^Now: ([^\n]{1,20})"), "Now: 12:30", [True]),
        (rule("V04", r"^Left: ([^\n]{1,20})"), "Left: 200 tokens", [True]),
        (rule("V03", r"^Id: ([a-z0-9]{1,20})"), "Id: berth\nId: a1b2c3d4", [False, True]),
        (rule("V05", r"^Platform: ([a-z]{1,20})"), "Platform: linux", [True]),
        (rule("V05", r"^Harbour: ([a-z]{1,20})"), "Harbour: north", [False]),
        (rule("V06", r"^Harbour: ([a-z]{1,20})"), "Harbour: north", [True]),
        (rule("V02", r"\A[ -~]{1,40}\z", "drop-block", "system[0]"), "It is 12:30", [True]),
        (rule("V02", r"\A[ -~]{1,40}\z", "drop-block", "system[0]"), "It is late", [False]),
    ],
)
def test_a_value_of_the_kind_that_is_named(made, text, expected):
    assert shown(made, sent(text)) == expected


def test_a_value_is_looked_for_where_the_pattern_marks_it():
    # The same words stand earlier, with a time beside them.
    made = rule("V02", r"^Tide: (high)")
    assert shown(replace(made), sent("At 12:30 high\nTide: high")) == [False]
