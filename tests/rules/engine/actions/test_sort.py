import json
from typing import Any

import pytest

from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.rule import Rule


def sorted_text(text: str, by: str, pattern: str | None = None) -> Any:
    rule = Rule("r", "O03", "sort", "messages", "system", pattern=pattern, by=by)
    body = json.dumps({"system": text}).encode()
    return json.loads(apply_rules(body, "messages", [rule]).body)["system"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b\na\nc", "a\nb\nc"),
        ("b\na\n", "a\nb\n"),
        ("\nb\n\na", "\na\n\nb"),
        ("- b\n- a", "- a\n- b"),
        ("1. pear\n2. apple\n10. fig", "1. apple\n2. fig\n10. pear"),
        ("b", "b"),
    ],
)
def test_lines(text, expected):
    assert sorted_text(text, "lines") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("c, a, b", "a, b, c"), ("c,a;  b", "a,b;  c"), ("one two, a thing", "a thing, one two")],
)
def test_items(text, expected):
    assert sorted_text(text, "items") == expected


def test_only_within_the_group():
    pattern = r"^Agents:\n((?:[^\n]{1,40}\n)?[^\n]{1,40})\n\nEnd"
    assert sorted_text("z\nAgents:\nb\na\n\nEnd\na", "lines", pattern) == (
        "z\nAgents:\na\nb\n\nEnd\na"
    )


def test_tools_of_one_name_keep_their_order():
    tools = [{"name": "b", "n": 1}, {"name": "a", "n": 2}, {"name": "b", "n": 3}, {"name": "a"}]
    rule = Rule("r", "O01", "sort", "messages", "tools", by="name")
    body = json.dumps({"tools": tools}).encode()
    made = json.loads(apply_rules(body, "messages", [rule]).body)["tools"]
    assert made == [tools[1], tools[3], tools[0], tools[2]]


def test_tools_of_the_chat_protocol():
    tools = [{"type": "function", "function": {"name": name}} for name in "ba"]
    rule = Rule("r", "O01", "sort", "chat", "tools", by="name")
    body = json.dumps({"tools": tools}).encode()
    assert json.loads(apply_rules(body, "chat", [rule]).body)["tools"] == tools[::-1]


def test_an_array_keeps_its_order_when_keys_are_sorted():
    rule = Rule("r", "O02", "sort", "messages", "x", by="keys")
    body = b'{"x":[{"b":1,"a":[3,1,{"d":1,"c":2}]},2,1]}'
    assert apply_rules(body, "messages", [rule]).body == (
        b'{"x":[{"a":[3,1,{"c":2,"d":1}],"b":1},2,1]}'
    )
