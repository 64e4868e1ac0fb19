import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.compare.comparison import shared_after, undo
from cachediag.protocol import jsontext
from tests.compare.bodies import HEADER, body, codes, held, raw, tool


def _turn(made):
    """The next request of the loop: the reply and a new tool result."""
    made["messages"] += [
        {"role": "assistant", "content": [{"type": "text", "text": "It says x = 1."}]},
        {"role": "user", "content": "Go on."},
    ]
    return made


def test_the_same_body():
    found = held(body(), body())
    assert found.findings == ()
    assert (found.shared_blocks, found.reusable_blocks) == (11, 11)
    assert (found.first_difference, found.first_path) == (None, None)


def test_a_moved_marker_is_harmless_though_the_raw_bytes_part_early():
    a, b = body(), _turn(body())
    a["messages"][2]["content"] = [
        {"type": "text", "text": "done", "cache_control": {"type": "ephemeral"}}
    ]
    b["messages"][2]["content"] = "done"
    b["messages"][4]["content"] = [
        {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}
    ]
    found = held(a, b)
    assert [(f.code, f.path) for f in found.findings] == [
        ("N01", "messages[3].content[0]"),
        ("M01", "messages[4].content[0]"),
        ("E03", "messages[2].content"),
    ]
    assert found.breaks == ()
    assert found.shared_blocks == found.a.block_count == 11
    assert found.first_path == "messages[2].content"
    assert found.first_difference == raw(a).index(b'[{"type":"text","text":"done"')


def test_the_billing_header_with_its_changed_characters():
    a, b = body(), _turn(body())
    b["system"][0]["text"] = HEADER.format("1c8b4")
    found = held(a, b)
    assert codes(found) == [("V01", "system[0].text")]
    first = found.breaks[0]
    assert first.before is not None
    assert first.after is not None
    assert first.before.text[first.before.start : first.before.end] == "6c09a"
    assert first.after.text[first.after.start : first.after.end] == "1c8b4"
    assert first.byte == raw(b).index(b"1c8b4")
    assert (found.shared_blocks, found.reusable_blocks) == (3, 11)
    assert first.fix == "CLAUDE_CODE_ATTRIBUTION_HEADER=0"


def test_several_causes_each_found_and_each_undone():
    a, b = body(), _turn(body())
    b["system"][0]["text"] = HEADER.format("1c8b4")
    b["tools"].reverse()
    b["messages"][0]["content"][0]["text"] = "<context>\nThe date is 2026-11-30.\n</context>"
    found = held(a, b)
    assert codes(found) == [
        ("O01", "tools"),
        ("V01", "system[0].text"),
        ("V02", "messages[0].content[0].text"),
    ]
    assert found.shared_blocks == 0
    undone = {("O01", "tools")}
    assert shared_after(found.stretches, undone) == 3
    undone.add(("V01", "system[0].text"))
    assert shared_after(found.stretches, undone) == 5
    undone.add(("V02", "messages[0].content[0].text"))
    assert shared_after(found.stretches, undone) == 11 == found.reusable_blocks


def test_two_causes_in_one_text_are_undone_one_by_one():
    a, b = body(), body()
    a["system"][1]["text"] = "Started 2026-11-29 with session 7f3a9c21d4.\nBe brief."
    b["system"][1]["text"] = "Started 2026-11-30 with session b81e05aa7c.\nBe brief."
    found = held(a, b)
    assert codes(found) == [
        ("V02", "system[1].text"),
        ("V03", "system[1].text"),
        ("M06", "system[1]"),
    ]
    (entry,) = found.entries
    half = undo(entry, {("V02", "system[1].text")})
    assert half is not None
    assert jsontext.decode(half.canonical)["text"] == (
        "Started 2026-11-29 with session b81e05aa7c.\nBe brief."
    )


def test_a_quoted_header_in_a_new_message_is_no_cause():
    b = _turn(body())
    b["messages"][-1]["content"] = f"Why is this sent? {HEADER.format('1c8b4')}"
    assert codes(held(body(), b)) == []


def test_an_edited_message_that_quotes_a_header_is_an_edit():
    a, b = body(), body()
    a["messages"][0]["content"][1]["text"] = f"Why {HEADER.format('6c09a')} and what now?"
    b["messages"][0]["content"][1]["text"] = "Forget that. Write the docs for the berth plan."
    assert codes(held(a, b)) == [("S04", "messages[0].content[1].text")]


def test_inline_system_messages_by_profile():
    a, b = body(), _turn(body())
    b["messages"].append({"role": "system", "content": "Tokens left: 4."})
    assert codes(held(a, b, "anthropic")) == []
    found = held(a, b, "vllm-mlx@0.6.0")
    assert codes(found) == [("S07", "messages[5].content")]
    assert found.reusable_blocks == found.a.block_count


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.2.6", [("V01", "system[0].text")]), ("0.2.8", []), ("0.6.0", [])],
)
def test_the_release_that_strips_the_header_hides_it(version, expected):
    a, b = body(), body()
    b["system"][0]["text"] = HEADER.format("1c8b4")
    assert codes(held(a, b, f"vllm-mlx@{version}")) == expected


def test_two_conversations_part_without_blame_but_not_their_system_prompts():
    a, b = body(), body()
    b["messages"] = [{"role": "user", "content": "Another task."}]
    b["system"][0]["text"] = HEADER.format("1c8b4")
    found = held(a, b, one_talk=False)
    assert codes(found) == [("V01", "system[0].text")]


def test_an_earlier_request_sent_again_is_all_shared():
    found = held(_turn(body()), body())
    assert codes(found) == []
    assert found.shared_blocks == found.b.block_count == 11


@pytest.mark.parametrize(
    ("name", "value", "confidence"),
    [
        ("model", "another", "confirmed"),
        ("tool_choice", {"type": "any"}, "suspected"),
        ("thinking", {"type": "enabled", "budget_tokens": 9}, "suspected"),
    ],
)
def test_parameters_that_key_the_cache(name, value, confidence):
    found = held(body(), body(**{name: value}))
    assert [(f.code, f.path, f.confidence) for f in found.breaks] == [("S10", name, confidence)]


def test_fields_outside_the_prompt_are_named():
    found = held(body(), body(metadata={"user_id": "else"}, max_tokens=5))
    assert [(f.code, f.severity) for f in found.findings] == [("N02", "info")]
    assert found.other_fields == ("metadata.user_id", "max_tokens")


# Mutations that a client or a person may make to any part of a request.
def _cut(made, data):
    if not made["messages"]:
        return
    made["messages"].pop(data.draw(st.integers(0, len(made["messages"]) - 1)))


def _edit_text(made, data):
    blocks = [*made["system"], *_text_blocks(made)]
    block = data.draw(st.sampled_from(blocks))
    block["text"] = data.draw(
        st.text(max_size=30)
        | st.just(block["text"] + "\n")
        | st.just(block["text"].replace("a", "4"))
        | st.just(block["text"].replace("29", "30"))
    )


def _text_blocks(made):
    lists = [m["content"] for m in made["messages"] if isinstance(m["content"], list)]
    return [block for blocks in lists for block in blocks if block["type"] == "text"]


def _shuffle_tools(made, data):
    made["tools"] = data.draw(st.permutations(made["tools"]))


def _change_tools(made, data):
    made["tools"].insert(data.draw(st.integers(0, 3)), tool("New", data.draw(st.text(max_size=9))))
    made["tools"].pop(data.draw(st.integers(0, 3)))


def _change_schema(made, data):
    schema = data.draw(st.sampled_from(made["tools"]))["input_schema"]
    properties = list(schema["properties"].items())
    schema["properties"] = dict(data.draw(st.permutations(properties)))
    schema["required"] = data.draw(st.permutations(schema["required"]))
    schema["minimum"] = data.draw(st.integers(0, 1) | st.just(1.0))


def _move_blocks(made, data):
    made["system"] = data.draw(st.permutations(made["system"]))
    for message in made["messages"]:
        if isinstance(message["content"], list):
            message["content"] = data.draw(st.permutations(message["content"]))


def _append(made, data):
    _turn(made)


MUTATIONS = [
    _cut,
    _edit_text,
    _shuffle_tools,
    _change_tools,
    _change_schema,
    _move_blocks,
    _append,
]


@given(st.data())
@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_undoing_every_break_gives_back_the_earlier_prompt(data):
    a = body()
    b = copy.deepcopy(a)
    for mutate in data.draw(st.lists(st.sampled_from(MUTATIONS), max_size=4)):
        mutate(b, data)
    name = data.draw(st.sampled_from(["anthropic", "vllm-mlx@0.3.0"]))
    found = held(a, b, name)
    shortest = min(found.a.block_count, found.b.block_count)
    if not found.breaks:
        assert found.shared_blocks >= shortest
    else:
        # Where an earlier state of the talk is sent again, its later turns are not asked for.
        unasked = sum(e.b is None and e.cause is None for e in found.entries)
        assert found.reusable_blocks == found.a.block_count - unasked
    assert found.shared_blocks <= found.reusable_blocks or not found.breaks
    for finding in found.findings:
        if finding.byte is not None:
            assert 0 <= finding.byte <= len(raw(b))


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_what_is_only_appended_never_breaks(data):
    a = body()
    b = copy.deepcopy(a)
    for _ in range(data.draw(st.integers(0, 3))):
        role = data.draw(st.sampled_from(["user", "assistant", "system"]))
        text = data.draw(st.text(max_size=40) | st.sampled_from([HEADER, "2026-11-30", "Fix it"]))
        b["messages"].append({"role": role, "content": text})
    found = held(a, b)
    assert found.breaks == ()
    assert found.shared_blocks == found.a.block_count


def _result(a, b):
    """A tool result written in two ways, and what is said of it beside what is appended."""
    one, other = body(), _turn(body())
    one["messages"][2]["content"][0]["content"] = a
    other["messages"][2]["content"][0]["content"] = b
    found = held(one, other)
    assert found.breaks == ()
    assert found.shared_blocks == found.a.block_count
    return [(f.code, f.path) for f in found.findings if f.path and f.path.startswith("messages[2]")]


def test_a_tool_result_as_a_string_or_as_its_one_text_is_the_same():
    assert _result("x = 1", [{"type": "text", "text": "x = 1"}]) == [
        ("E03", "messages[2].content[0]")
    ]


def test_a_marker_inside_a_tool_result_is_a_marker_and_no_other_spelling():
    marked = [{"type": "text", "text": "x = 1", "cache_control": {"type": "ephemeral"}}]
    assert _result([{"type": "text", "text": "x = 1"}], marked) == [
        ("M01", "messages[2].content[0]")
    ]
