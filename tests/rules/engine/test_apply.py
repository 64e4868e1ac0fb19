"""Applying is a splice: whatever no rule touches is in the result byte for byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.protocol import jsontext
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.rule import Rule
from tests.rules.bodies import TEXTS, spellers

HEADER = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=6c09a;"
PATTERN = r"\Ax-anthropic-billing-header: [ -~]{1,200}\z"
DROP = Rule("drop", "V01", "drop-block", "messages", "system[0]", pattern=PATTERN)
CCH = Rule(
    "cch",
    "V01",
    "replace",
    "messages",
    "system[0].text",
    pattern=r"\Ax-anthropic-billing-header: [ -~]{1,100}; cch=([0-9a-f]{5});",
    value="00000",
)
PIN = Rule("pin", "V03", "pin", "messages", "system[*].text", pattern=r"^Id: ([0-9a-f]{8})$")
MOVE = Rule(
    "move", "V02", "move-to-end", "messages", "system[*].text", pattern=r"^Now: [^\n]{1,40}\n"
)
TOOLS = Rule("tools", "O01", "sort", "messages", "tools", by="name")
KEYS = Rule("keys", "O02", "sort", "messages", "tools[*].input_schema", by="keys")
INLINE = Rule("inline", "S07", "keep-inline", "messages", "messages[*]")
EVERY = (DROP, CCH, PIN, MOVE, TOOLS, KEYS, INLINE)


def items(body: bytes, name: str) -> list[bytes]:
    """The items of a top-level array."""
    (at,) = [at for key, at in jsontext.members(body, jsontext.whole(body)) if key == name]
    return [body[item.start : item.end] for item in jsontext.items(body, at)]


@given(spellers)
def test_what_no_rule_matches_comes_back_as_the_same_object(write):
    fields = {
        "system": write.array([write.text_block("You are an agent.")]),
        "messages": write.array([write.value()]),
    }
    body = write.request(fields)
    applied = apply_rules(body, "messages", EVERY)
    assert applied.body is body
    assert applied.changes == ()


@given(spellers, st.lists(TEXTS, max_size=2))
def test_a_dropped_block_goes_with_one_comma_and_nothing_else(write, behind):
    header = write.text_block(HEADER)
    rest = [write.text_block(text) for text in behind]
    body = write.request({"system": write.array([header, *rest]), "messages": b"[]"})
    start = body.index(header)
    end = start + len(header)
    if rest:
        end = body.index(rest[0], end)
    assert apply_rules(body, "messages", [DROP]).body == body[:start] + body[end:]


@given(spellers)
def test_a_replaced_piece_is_the_only_difference(write):
    before = write.literal(HEADER[: -len("6c09a;")])[:-1]
    digits = write.literal("6c09a")[1:-1]
    behind = write.literal(";")[1:]
    literal = before + digits + behind
    block = write.object([("text", literal), ("type", b'"text"')])
    body = write.request({"system": write.array([block]), "messages": b"[]"})
    at = body.index(literal) + len(before)
    made = apply_rules(body, "messages", [CCH]).body
    assert made == body[:at] + b"00000" + body[at + len(digits) :]


@given(spellers)
def test_a_pinned_piece_is_the_first_value_as_it_was_spelled(write):
    pins = Pins()
    first = write.literal("0a1b2c3d")
    bodies = []
    for id_ in (first, write.literal("4e5f6071")):
        before, behind = write.literal("Be brief.\nId: ")[:-1], write.literal("\nBye.")[1:]
        text = before + id_[1:-1] + behind
        fields = {"system": write.array([write.object([("text", text)])]), "messages": b"[]"}
        body = write.request(fields)
        bodies.append((body, body.index(text) + len(before), len(id_) - 2))
    (one, _, _), (two, at, size) = bodies
    assert apply_rules(one, "messages", [PIN], pins).body is one
    made = apply_rules(two, "messages", [PIN], pins).body
    assert made == two[:at] + first[1:-1] + two[at + size :]


@given(spellers, st.lists(TEXTS, max_size=5, unique=True))
def test_sorted_tools_keep_their_own_bytes(write, names):
    tools = [
        write.object(write.shuffled([("name", write.literal(name)), ("n", str(n).encode())]))
        for n, name in enumerate(names)
    ]
    body = write.request({"tools": write.array(tools), "messages": b"[]"})
    made = apply_rules(body, "messages", [TOOLS]).body
    assert items(made, "tools") == [tool for _, tool in sorted(zip(names, tools, strict=True))]
    assert len(made) == len(body)


@given(spellers)
def test_sorting_keys_changes_no_value_and_no_byte_count(write):
    schema = write.object([("b", write.value()), ("a", write.value()), ("B", write.value())])
    tool = b'{"name":"t","input_schema":' + schema + b"}"
    body = write.request({"tools": b"[" + tool + b"]", "messages": b"[]"})
    made = apply_rules(body, "messages", [KEYS]).body
    assert sorted(made) == sorted(body)
    assert jsontext.decode(made) == jsontext.decode(body)
    assert list(jsontext.decode(made)["tools"][0]["input_schema"]) == ["B", "a", "b"]
    assert apply_rules(made, "messages", [KEYS]).body is made


@given(spellers, st.tuples(TEXTS, TEXTS))
def test_together_the_rules_leave_what_the_talk_says(write, said):
    talk = [
        b'{"role":"user","content":' + write.literal(HEADER + said[0]) + b"}",
        b'{"role":"system","content":' + write.literal(said[1]) + b"}",
        b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":'
        + write.literal(HEADER)
        + b"}]}",
    ]
    system = [write.text_block(HEADER), write.text_block("Be brief.\nNow: 10:31\nBye.")]
    body = write.request({"system": write.array(system), "messages": write.array(talk)})
    made = apply_rules(body, "messages", [DROP, PIN, MOVE, TOOLS, KEYS, INLINE]).body
    value = jsontext.decode(made)
    assert [block["text"] for block in value["system"]] == ["Be brief.\nBye."]
    assert talk[0] in made
    assert value["messages"][1] == {"role": "user", "content": said[1]}
    assert value["messages"][2]["content"] == [
        jsontext.decode(talk[2])["content"][0],
        {"type": "text", "text": "Now: 10:31"},
    ]
    sent = jsontext.decode(body)
    others = sent.keys() - {"system", "messages"}
    assert {name: value[name] for name in others} == {name: sent[name] for name in others}


def test_applying_twice_changes_nothing_more():
    body = json.dumps(
        {
            "system": [{"type": "text", "text": HEADER}],
            "tools": [{"name": "b"}, {"name": "a"}],
            "messages": [],
        }
    ).encode()
    once = apply_rules(body, "messages", EVERY).body
    assert jsontext.decode(once) == {
        "system": [],
        "tools": [{"name": "a"}, {"name": "b"}],
        "messages": [],
    }
    assert apply_rules(once, "messages", EVERY).body is once


def test_a_user_who_quotes_a_header_and_a_tool_that_prints_one_are_left_alone():
    quoting = [
        {"role": "user", "content": HEADER},
        {"role": "user", "content": [{"type": "text", "text": HEADER}]},
        {"role": "assistant", "content": [{"type": "text", "text": HEADER}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": HEADER}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "content": [{"type": "text", "text": HEADER}]}],
        },
    ]
    paths = ("messages[*].content", "messages[*].content[*]", "messages[*].content[*].content[*]")
    rules = [
        Rule(f"r{n}{flag}", "V01", "drop-block", "messages", path, pattern=PATTERN, messages=flag)
        for n, path in enumerate(paths)
        for flag in (False, True)
    ]
    body = json.dumps({"messages": quoting}).encode()
    applied = apply_rules(body, "messages", rules)
    assert applied.body is body
    assert applied.changes == ()


def test_where_two_rules_meet_the_first_one_changes_and_the_other_is_told():
    body = json.dumps({"system": [{"type": "text", "text": HEADER}], "messages": []}).encode()
    first = apply_rules(body, "messages", [DROP, CCH])
    assert [change.rule for change in first.changes] == ["drop"]
    assert first.conflicts == (("cch", "system[0].text"),)
    other = apply_rules(body, "messages", [CCH, DROP])
    assert [change.rule for change in other.changes] == ["cch"]
    assert other.conflicts == (("drop", "system[0]"),)


def test_rules_of_another_protocol_do_not_apply():
    body = json.dumps({"system": [{"type": "text", "text": HEADER}], "messages": []}).encode()
    assert apply_rules(body, "chat", EVERY).body is body


def test_a_body_that_is_no_json_is_an_error():
    with pytest.raises(InputError, match="not JSON"):
        apply_rules(b'{"system": [}', "messages", EVERY)


def test_what_changed_is_told_with_place_and_size():
    body = json.dumps({"system": [{"type": "text", "text": HEADER}], "messages": []}).encode()
    (change,) = apply_rules(body, "messages", [CCH], Pins()).changes
    assert (change.rule, change.path) == ("cch", "system[0].text")
    assert (change.before, change.after, change.size) == ("6c09a", "00000", 5)
