"""The beginnings of requests, in bytes of the body and in characters of what was said."""

import json
from hashlib import blake2b
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.protocol import Parser, parse
from cachediag.simulate.workloads.heads import LONGEST, AllHeads, RecordedHeads, message_texts

PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def body(*messages: Any, **more: Any) -> bytes:
    return json.dumps({"model": "made-up", **more, "messages": list(messages)}).encode()


def texts(raw: bytes) -> list[tuple[str, str]]:
    """Path and text of what is counted."""
    prompt = parse(raw)
    return [(prompt.blocks[number].path, text) for number, text in message_texts(prompt)]


def test_texts_and_results_count_in_the_order_of_the_messages() -> None:
    call = {"type": "tool_use", "id": "1", "name": "Read", "input": {"text": "no"}}
    result = [{"type": "text", "text": "in "}, PICTURE, {"type": "text", "text": "two"}]
    raw = body(
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "no"}, call]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": result},
                {"type": "tool_result", "tool_use_id": "2", "content": "as text"},
                {"type": "tool_result", "tool_use_id": "3"},
                {"type": "text", "text": "three", "cache_control": {"type": "ephemeral"}},
            ],
        },
        system="not in the messages",
        tools=[{"name": "Read", "description": "nor this", "input_schema": {}}],
    )
    assert texts(raw) == [
        ("messages[0].content", "one"),
        ("messages[2].content[0]", "in two"),
        ("messages[2].content[1]", "as text"),
        ("messages[2].content[3]", "three"),
    ]


def test_system_messages_of_a_chat_stand_where_they_stand() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    raw = body(
        {"role": "system", "content": "rules "},
        {"role": "user", "content": [{"type": "text", "text": "ask "}]},
        {"role": "assistant", "content": None, "reasoning_content": "no", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "given"},
        tools=[{"type": "function", "function": {"name": "f"}}],
    )
    assert [text for _, text in texts(raw)] == ["rules ", "ask ", "given"]


def test_items_of_the_responses_protocol() -> None:
    raw = json.dumps(
        {
            "model": "made-up",
            "instructions": "not these",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "ask "}]},
                {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "1", "output": "given"},
            ],
        }
    ).encode()
    assert [text for _, text in texts(raw)] == ["ask ", "given"]


@pytest.mark.parametrize(
    "content", [None, 5, [None], [[]], {"text": {"text": "deep"}}, [{"text": 5}]]
)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_what_is_no_text_counts_nothing(content: Any, role: str) -> None:
    raw = body({"role": role, "content": content}, {"role": "system", "content": ""})
    prompts = [parse(raw, endpoint) for endpoint in ("messages", "chat")]
    assert [list(message_texts(prompt)) for prompt in prompts] == [[], []]


@given(
    st.sampled_from(["", "a", "äö€", "a" * 40]),
    st.text(max_size=60),
    st.text(max_size=60),
    st.integers(1, 130),
)
def test_keys_are_equal_where_heads_are(same: str, a: str, b: str, length: int) -> None:
    one, other = (
        RecordedHeads(text.encode("utf-8", "surrogatepass"), text) for text in (same + a, same + b)
    )
    characters = (same + a)[:length] == (same + b)[:length]
    assert (one.key("characters", length) == other.key("characters", length)) is characters
    raw = [(same + text).encode("utf-8", "surrogatepass")[:length] for text in (a, b)]
    assert (one.key("bytes", length) == other.key("bytes", length)) is (raw[0] == raw[1])
    assert 0 <= one.key("bytes", length) < 2**63
    assert one.key("bytes", length) == one.key("bytes", length)


def test_keys_are_the_same_in_every_process() -> None:
    heads = RecordedHeads(b'{"model"', "Wo liegt die Fähre?")
    cases: list[tuple[Literal["bytes", "characters"], int, bytes]] = [
        ("bytes", 4, b'{"mo'),
        ("characters", 15, "Wo liegt die Fä".encode()),
    ]
    for unit, length, head in cases:
        expected = int.from_bytes(blake2b(head, digest_size=8).digest(), "little") >> 1
        assert heads.key(unit, length) == expected


def test_long_talks_have_one_head() -> None:
    parser, heads = Parser(), AllHeads()
    long = [{"role": "user", "content": "x" * LONGEST}, {"role": "assistant", "content": "y"}]
    one, other, third = (
        heads.of(parser.parse(body(*long[:count], **more)))
        for count, more in ((1, {}), (2, {}), (2, {"temperature": 1}))
    )
    assert one is other
    assert third is not one
    assert third.key("characters", LONGEST) == one.key("characters", 2 * LONGEST)
    assert third.key("bytes", LONGEST) != one.key("bytes", LONGEST)


def test_a_head_is_cut_within_a_text() -> None:
    heads = AllHeads()
    one, other = (
        heads.of(parse(body({"role": "user", "content": "ab"}, {"role": "user", "content": text})))
        for text in ("cd", "ce")
    )
    assert one.key("characters", 3) == other.key("characters", 3)
    assert one.key("characters", 4) != other.key("characters", 4)
