import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.model import Marker
from cachediag.protocol import parse


def _body(**fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


def _rows(prompt):
    return [(b.section, b.role, b.kind, b.path) for b in prompt.blocks]


MESSAGES = _body(
    model="m",
    messages=[
        {"role": "user", "content": "hello"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"cache_control": 1}},
                {"type": "server_tool_use", "id": "t2", "name": "web_search", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [
                        {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
                    ],
                },
                {"type": "image", "source": {"type": "base64", "data": "QUJD"}},
                {"type": "from_the_future", "stuff": [1]},
            ],
        },
        {"role": "system", "content": "42 tokens left"},
    ],
    system=[
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ],
    tools=[{"name": "Read", "description": "d", "input_schema": {"type": "object"}}],
    max_tokens=10,
    metadata={"user_id": "u"},
)


def test_messages_in_cache_order_with_every_block_kept():
    prompt = parse(MESSAGES, "messages")
    assert _rows(prompt) == [
        ("tools", "tools", "tool", "tools[0]"),
        ("system", "system", "text", "system[0]"),
        ("system", "system", "text", "system[1]"),
        ("messages", "user", "text", "messages[0].content"),
        ("messages", "assistant", "thinking", "messages[1].content[0]"),
        ("messages", "assistant", "text", "messages[1].content[1]"),
        ("messages", "assistant", "tool_use", "messages[1].content[2]"),
        ("messages", "assistant", "server_tool_use", "messages[1].content[3]"),
        ("messages", "user", "tool_result", "messages[2].content[0]"),
        ("messages", "user", "image", "messages[2].content[1]"),
        ("messages", "user", "from_the_future", "messages[2].content[2]"),
        ("messages", "system", "text", "messages[3].content"),
    ]
    assert prompt.model == "m"
    assert prompt.params == {
        "model": b'"m"',
        "max_tokens": b"10",
        "metadata": b'{"user_id":"u"}',
    }


def test_markers_are_taken_off_blocks_and_never_off_arguments():
    blocks = {block.path: block for block in parse(MESSAGES, "messages").blocks}
    assert blocks["system[1]"].marker == Marker("ephemeral", "1h")
    assert blocks["system[1]"].canonical == b'{"type":"text","text":"b"}'
    assert blocks["messages[2].content[0]"].marker == Marker("ephemeral", None)
    assert b"cache_control" not in blocks["messages[2].content[0]"].canonical
    assert b'"input":{"cache_control":1}' in blocks["messages[1].content[2]"].canonical
    assert blocks["messages[1].content[2]"].marker is None


def test_each_span_is_the_blocks_own_json():
    for block in parse(MESSAGES, "messages").blocks:
        value = json.loads(MESSAGES[block.start : block.end])
        assert isinstance(value, str | dict)


@pytest.mark.parametrize("field", ["content", "result"])
def test_a_string_is_the_text_block_it_stands_for(field):
    block = {"type": "text", "text": "é"}
    if field == "result":
        inner: list[object] = [{"type": "tool_result", "content": "é"}]
        outer: object = [{"type": "tool_result", "content": [block]}]
    else:
        inner, outer = "é", [block]  # type: ignore[assignment]
    as_string = parse(_body(messages=[{"role": "user", "content": inner}], max_tokens=1))
    as_block = parse(_body(messages=[{"role": "user", "content": outer}], max_tokens=1))
    assert [b.canonical for b in as_string.blocks] == [b.canonical for b in as_block.blocks]


def test_chat_keeps_calls_results_and_reasoning():
    prompt = parse(
        _body(
            model="q",
            messages=[
                {"role": "system", "content": "s"},
                {"role": "developer", "content": [{"type": "text", "text": "d"}]},
                {"role": "user", "content": "u"},
                {
                    "role": "assistant",
                    "content": None,
                    "reasoning_content": "hm",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "r"},
                {"role": "system", "content": "late"},
            ],
            tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
        )
    )
    assert prompt.endpoint == "chat"
    assert _rows(prompt) == [
        ("tools", "tools", "tool", "tools[0]"),
        ("system", "system", "text", "messages[0].content"),
        ("system", "developer", "text", "messages[1].content[0]"),
        ("messages", "user", "text", "messages[2].content"),
        ("messages", "assistant", "thinking", "messages[3].reasoning_content"),
        ("messages", "assistant", "tool_use", "messages[3].tool_calls[0]"),
        ("messages", "tool", "tool_result", "messages[4].content"),
        ("messages", "tool", "tool_call_id", "messages[4].tool_call_id"),
        ("messages", "system", "text", "messages[5].content"),
    ]


def test_responses_items():
    prompt = parse(
        _body(
            model="o",
            instructions="i",
            input=[
                {"role": "user", "content": "u"},
                {"type": "reasoning", "id": "r", "summary": []},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "x"},
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "done"}],
                },
                {"type": "item_reference", "id": "z"},
            ],
        )
    )
    assert _rows(prompt) == [
        ("system", "system", "text", "instructions"),
        ("messages", "user", "text", "input[0].content"),
        ("messages", "assistant", "thinking", "input[1]"),
        ("messages", "assistant", "tool_use", "input[2]"),
        ("messages", "tool", "tool_result", "input[3]"),
        ("messages", "assistant", "text", "input[4].content[0]"),
        ("messages", "assistant", "item_reference", "input[5]"),
    ]


def test_responses_input_as_a_string():
    prompt = parse(_body(input="hello"))
    assert [(b.path, b.canonical, b.is_string) for b in prompt.blocks] == [
        ("input", b'{"type":"text","text":"hello"}', True)
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[]", "not a request body: the JSON is no object"),
        (b'{"a":1}', "a JSON object, but not a request body: it has no messages"),
        (b'{"messages": 5, "max_tokens": 1}', "expected an array at byte 13"),
        (b'{"messages": [', "JSON ends too early (line 1, column 15)"),
    ],
)
def test_what_is_no_body_is_refused(body, message):
    with pytest.raises(InputError) as caught:
        parse(body, None if b"5" not in body else "messages")
    assert str(caught.value) == message


def test_odd_messages_are_kept_not_dropped():
    prompt = parse(b'{"messages":["x",{"role":"user"},{"content":{"text":"y"}},7]}', "messages")
    assert [(b.path, b.kind, b.message) for b in prompt.blocks] == [
        ("messages[0]", "text", 0),
        ("messages[2].content", "unknown", 2),
        ("messages[3]", "unknown", 3),
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.lists(st.fixed_dictionaries({"role": st.text(max_size=5), "content": _JSON}), max_size=4),
    st.sampled_from(["messages", "chat"]),
)
def test_any_messages_parse_and_every_span_holds_json(messages, endpoint):
    body = _body(messages=messages)
    for block in parse(body, endpoint).blocks:
        json.loads(body[block.start : block.end])
        assert block.canonical
