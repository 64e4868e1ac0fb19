import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.model import Usage
from cachediag.protocol.response import ResponseFacts, has_token, read_response

SSE = "text/event-stream"
JSON = "application/json"
NOTHING = ResponseFacts()


def sse(*events: dict[str, object] | str, end: str = "\n") -> bytes:
    lines = []
    for event in events:
        if isinstance(event, dict):
            lines += [f"event: {event['type']}"] if "type" in event else []
            lines += [f"data: {json.dumps(event)}", ""]
        else:
            lines += [f"data: {event}", ""]
    return "".join(line + end for line in lines).encode()


def message_start(model: str = "m-1", **usage: object) -> dict[str, object]:
    return {"type": "message_start", "message": {"model": model, "usage": usage}}


def message_delta(**usage: object) -> dict[str, object]:
    return {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}


def text_delta(text: str) -> dict[str, object]:
    return {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}


@pytest.mark.parametrize(
    ("endpoint", "body", "facts"),
    [
        (
            "messages",
            {
                "model": "m-1",
                "usage": {"input_tokens": 5, "cache_read_input_tokens": 0, "output_tokens": 2},
            },
            ResponseFacts("m-1", Usage(input_tokens=5, cache_read=0, output_tokens=2)),
        ),
        (
            "messages",
            {
                "usage": {
                    "input_tokens": 5,
                    "cache_creation_input_tokens": 90,
                    "cache_read_input_tokens": 10,
                }
            },
            ResponseFacts(None, Usage(input_tokens=5, cache_read=10, cache_creation=90)),
        ),
        (
            "chat",
            {
                "model": "q",
                "usage": {
                    "prompt_tokens": 50,
                    "completion_tokens": 3,
                    "prompt_tokens_details": {"cached_tokens": 48},
                },
            },
            ResponseFacts("q", Usage(input_tokens=50, cache_read=48, output_tokens=3)),
        ),
        (
            "chat",
            {"model": "q", "usage": {"prompt_tokens": 50, "prompt_tokens_details": None}},
            ResponseFacts("q", Usage(input_tokens=50)),
        ),
        (
            "responses",
            {
                "model": "o",
                "usage": {
                    "input_tokens": 9,
                    "input_tokens_details": {"cached_tokens": 0},
                    "output_tokens": 1,
                },
            },
            ResponseFacts("o", Usage(input_tokens=9, cache_read=0, output_tokens=1)),
        ),
        ("messages", {"type": "error", "error": {"message": "no"}}, NOTHING),
        ("messages", {"model": "", "usage": None}, NOTHING),
        ("chat", {"model": 7, "usage": [1]}, NOTHING),
        (
            "messages",
            {"usage": {"input_tokens": "5", "output_tokens": True}},
            ResponseFacts(None, Usage()),
        ),
        (
            "messages",
            {"usage": {"input_tokens": -1, "output_tokens": 1.5}},
            ResponseFacts(None, Usage()),
        ),
        ("count_tokens", {"input_tokens": 5, "usage": {"input_tokens": 5}}, NOTHING),
        ("other", {"model": "m"}, NOTHING),
    ],
)
def test_json(endpoint, body, facts):
    assert read_response(endpoint, JSON, json.dumps(body).encode()) == facts


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_counts_of_both_ends_of_a_messages_stream_are_merged(end):
    stream = sse(
        message_start(input_tokens=100, cache_read_input_tokens=7, output_tokens=1),
        text_delta("hi"),
        message_delta(output_tokens=42),
        end=end,
    )
    expected = Usage(input_tokens=100, cache_read=7, output_tokens=42)
    assert read_response("messages", SSE, stream) == ResponseFacts("m-1", expected)


@pytest.mark.parametrize(
    ("start", "delta", "expected"),
    [
        # A server that knows the prompt's length only at the end.
        ({"input_tokens": 0}, {"input_tokens": 90, "output_tokens": 5}, Usage(90, None, None, 5)),
        ({"input_tokens": 80}, {"input_tokens": 90, "output_tokens": 5}, Usage(90, None, None, 5)),
        # One that fills the end with zeros.
        ({"input_tokens": 90}, {"input_tokens": 0, "output_tokens": 5}, Usage(90, None, None, 5)),
        # One that gives a null.
        (
            {"input_tokens": 9, "cache_read_input_tokens": 4},
            {"input_tokens": None, "cache_read_input_tokens": None, "output_tokens": 5},
            Usage(9, 4, None, 5),
        ),
        # A hit that is told at the end, and a miss that is told at all.
        ({"input_tokens": 9}, {"cache_read_input_tokens": 8}, Usage(9, 8)),
        (
            {"input_tokens": 9, "cache_read_input_tokens": 0},
            {"output_tokens": 0},
            Usage(9, 0, None, 0),
        ),
    ],
)
def test_which_of_two_counts_holds(start, delta, expected):
    stream = sse(message_start(**start), message_delta(**delta))
    assert read_response("messages", SSE, stream).usage == expected


def test_a_chat_stream_counts_in_its_last_chunk():
    stream = sse(
        {"model": "q", "choices": [{"delta": {"role": "assistant"}}], "usage": None},
        {"model": "q", "choices": [{"delta": {"content": "hi"}}], "usage": None},
        {
            "model": "q",
            "choices": [],
            "usage": {
                "prompt_tokens": 5,
                "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
        },
        "[DONE]",
    )
    expected = Usage(input_tokens=5, cache_read=4, output_tokens=1)
    assert read_response("chat", SSE, stream) == ResponseFacts("q", expected)


@pytest.mark.parametrize("kind", ["response.completed", "response.incomplete", "response.failed"])
def test_a_responses_stream_counts_in_the_event_that_ends_it(kind):
    stream = sse(
        {"type": "response.created", "response": {"model": "o", "usage": None}},
        {"type": "response.output_text.delta", "delta": "hi"},
        {
            "type": kind,
            "response": {
                "model": "o",
                "usage": {
                    "input_tokens": 8,
                    "input_tokens_details": {"cached_tokens": 2},
                    "output_tokens": 3,
                },
            },
        },
    )
    expected = Usage(input_tokens=8, cache_read=2, output_tokens=3)
    assert read_response("responses", SSE, stream) == ResponseFacts("o", expected)


def test_a_stream_that_broke_off_says_what_it_had_said():
    stream = sse(message_start(input_tokens=5), text_delta("hi"), message_delta(output_tokens=9))
    cut = stream[: stream.index(b'"output_tokens": 9')]
    assert read_response("messages", SSE, cut) == ResponseFacts("m-1", Usage(input_tokens=5))


@pytest.mark.parametrize("content_type", [None, "", JSON, "text/plain"])
def test_the_content_type_may_be_missing_or_wrong(content_type):
    stream = sse(message_start(input_tokens=5))
    assert read_response("messages", content_type, stream).usage == Usage(input_tokens=5)
    body = b' \n{"model":"m","usage":{"input_tokens":6}}'
    assert read_response("messages", SSE, body).usage == Usage(input_tokens=6)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff\xfe", b"{", b"[]", b"null", b'"x"', b"<html>", b"data: {\n\n", b"[" * 100_000],
)
@pytest.mark.parametrize("content_type", [SSE, JSON])
def test_what_is_no_answer_says_nothing(body, content_type):
    assert read_response("messages", content_type, body) == NOTHING
    assert not has_token("messages", body)


@given(st.sampled_from(["messages", "chat", "responses"]), st.data())
def test_no_stream_raises(endpoint, data):
    value = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "delta", "choices", "message", "response", "usage", "model"]
                )
                | st.text(max_size=5),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
    events = data.draw(st.lists(value, max_size=4))
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    cut = stream[: data.draw(st.integers(0, len(stream)))]
    facts = read_response(endpoint, SSE, cut)
    assert facts.usage is None or isinstance(facts.usage, Usage)
    assert has_token(endpoint, cut) in {True, False}


def chat_delta(**delta: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta}]}


@pytest.mark.parametrize(
    ("endpoint", "event", "token"),
    [
        ("messages", message_start(input_tokens=1), False),
        ("messages", {"type": "ping"}, False),
        (
            "messages",
            {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
            False,
        ),
        ("messages", text_delta(""), False),
        ("messages", text_delta("a"), True),
        (
            "messages",
            {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "h"}},
            True,
        ),
        (
            "messages",
            {
                "type": "content_block_delta",
                "delta": {"type": "input_json_delta", "partial_json": ""},
            },
            False,
        ),
        (
            "messages",
            {
                "type": "content_block_delta",
                "delta": {"type": "input_json_delta", "partial_json": "{"},
            },
            True,
        ),
        ("messages", message_delta(output_tokens=1), False),
        ("chat", chat_delta(role="assistant"), False),
        ("chat", chat_delta(role="assistant", content=""), False),
        ("chat", chat_delta(role="assistant", content=None, refusal=None), False),
        ("chat", chat_delta(), False),
        ("chat", chat_delta(content="a"), True),
        ("chat", chat_delta(reasoning_content="a"), True),
        ("chat", chat_delta(tool_calls=[{"index": 0, "function": {"name": "f"}}]), True),
        ("chat", {"choices": [], "usage": {"prompt_tokens": 1}}, False),
        ("responses", {"type": "response.created", "response": {}}, False),
        ("responses", {"type": "response.output_text.delta", "delta": ""}, False),
        ("responses", {"type": "response.output_text.delta", "delta": "a"}, True),
        ("responses", {"type": "response.function_call_arguments.delta", "delta": "{"}, True),
        ("responses", {"type": "response.output_text.done", "text": "a delta"}, False),
        ("count_tokens", text_delta("a"), False),
        ("other", text_delta("a"), False),
    ],
)
def test_what_is_a_token(endpoint, event, token):
    assert has_token(endpoint, sse(event)) is token


def test_one_token_among_other_lines_is_enough():
    assert has_token("messages", sse(message_start(), text_delta(""), text_delta("a")))
    assert has_token("chat", sse(chat_delta(role="assistant"), chat_delta(content="a"), "[DONE]"))
