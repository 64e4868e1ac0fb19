import json
from typing import Any

import pytest

from cachediag.model import Endpoint
from cachediag.protocol.reply import Reply, ReplyCall, read_reply

SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"


def stream(*events: dict[str, Any], named: bool = False) -> bytes:
    lines = (f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)
    named_lines = (f"event: {event.get('type')}\n" if named else "" for event in events)
    return "".join(name + line for name, line in zip(named_lines, lines, strict=True)).encode()


def block(index: int, opened: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": opened},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


MESSAGE_EVENTS = [
    {"type": "message_start", "message": {"content": [], "stop_reason": None}},
    *block(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "Hm, "},
        {"type": "thinking_delta", "thinking": "data: no"},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    *block(
        1,
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "Größe "},
        {"type": "text_delta", "text": "🚢"},
    ),
    *block(
        2,
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"command": '},
        {"type": "input_json_delta", "partial_json": '"ls"}'},
    ),
    *block(3, {"type": "tool_use", "id": "b", "name": "List", "input": {}}),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
    {"type": "message_stop"},
]
WHOLE = Reply(
    text="Größe 🚢",
    thinking="Hm, data: no",
    calls=(ReplyCall("Bash", '{"command": "ls"}'), ReplyCall("List", "")),
    ended=True,
)


def test_a_stream_of_messages() -> None:
    assert read_reply("messages", SSE, stream(*MESSAGE_EVENTS, named=True)) == WHOLE


def test_a_message() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "One."},
        {"type": "tool_use", "name": "Bash", "input": {"z": 1, "a": "ü"}},
    ]
    body = json.dumps({"content": content, "stop_reason": "end_turn"}).encode()
    calls = (ReplyCall("Bash", '{"z":1,"a":"ü"}'),)
    assert read_reply("messages", JSON, body) == Reply("One.", "Hm.", calls, ended=True)


def test_a_stream_of_chat() -> None:
    def call(index: int, **function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": index, "function": function}]}

    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": None},
        {"reasoning_content": "Hm."},
        {"content": "One "},
        {"content": "two"},
        call(0, name="Bash", arguments=""),
        call(0, arguments='{"a": 1}'),
        call(1, name="List", arguments="{}"),
    ]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": each}]} for each in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": 1}})
    body = stream(*chunks) + b"data: [DONE]\n\n"
    calls = (ReplyCall("Bash", '{"a": 1}'), ReplyCall("List", "{}"))
    assert read_reply("chat", SSE, body) == Reply("One two", "Hm.", calls, ended=True)


def test_a_chat_completion() -> None:
    """mlx-lm's server gives tool calls no index, and calls the thinking `reasoning`."""
    call = {"type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    message = {"content": "One", "reasoning": "Hm.", "tool_calls": [call, call]}
    choices = [
        {"index": 0, "message": message, "finish_reason": "stop"},
        {"index": 1, "message": {"content": "other"}},
    ]
    body = json.dumps({"choices": choices}).encode()
    calls = (ReplyCall("Bash", "{}"),) * 2
    assert read_reply("chat", JSON, body) == Reply("One", "Hm.", calls, ended=True)


@pytest.mark.parametrize("reason", ["max_tokens", "stop_sequence", "refusal", None])
def test_a_message_that_was_stopped(reason: str | None) -> None:
    body = json.dumps({"content": [{"type": "text", "text": "One"}], "stop_reason": reason})
    assert read_reply("messages", JSON, body.encode()) == Reply("One", ended=False)


def test_a_chat_completion_that_was_stopped() -> None:
    choice = {"index": 0, "message": {"content": "One"}, "finish_reason": "length"}
    body = json.dumps({"choices": [choice]}).encode()
    assert read_reply("chat", JSON, body) == Reply("One", ended=False)


def test_an_empty_reply_that_ended() -> None:
    choice = {"index": 0, "message": {"role": "assistant"}, "finish_reason": "stop"}
    assert read_reply("chat", JSON, json.dumps({"choices": [choice]}).encode()) == Reply(ended=True)


def test_a_stream_that_was_cut_off_gives_what_had_come() -> None:
    body = stream(*MESSAGE_EVENTS, named=True)
    for end in range(len(body) + 1):
        found = read_reply("messages", SSE, body[:end])
        if found is not None:
            assert WHOLE.text.startswith(found.text)
            assert WHOLE.thinking.startswith(found.thinking)
            assert found.ended <= (b"message_delta" in body[:end])


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        ("messages", b""),
        ("messages", b"not json"),
        ("messages", b'{"type": "error", "error": {"message": "busy"}}'),
        ("messages", b"[1, 2]"),
        ("messages", b'{"content": [1, {"type": []}], "delta": 3, "stop_reason": {}}'),
        ("chat", b'{"choices": [3]}'),
        ("chat", b'{"choices": {}}'),
        ("chat", b'{"error": "no"}'),
        ("count_tokens", b'{"input_tokens": 3}'),
        ("other", b"{}"),
    ],
)
def test_what_holds_no_reply(endpoint: Endpoint, body: bytes) -> None:
    assert read_reply(endpoint, JSON, body) is None


def test_values_of_other_kinds_are_left_out() -> None:
    message = {"content": 3, "reasoning": [], "tool_calls": [{"function": {"name": 1}}, 2]}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
    assert read_reply("chat", JSON, body) == Reply(calls=(ReplyCall("", ""),), ended=True)
