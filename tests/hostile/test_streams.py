"""Responses of every shape: what cannot be read is left out, and no count is made up."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.model import Endpoint
from cachediag.protocol.reply import read_reply
from cachediag.protocol.response import ResponseFacts, has_token, read_response
from tests.hostile.strategies import Json

ENDPOINTS: tuple[Endpoint, ...] = ("messages", "chat", "responses", "count_tokens", "other")
_TYPES = st.sampled_from([None, "text/event-stream", "application/json", "\0"])
_USAGE = st.dictionaries(
    st.sampled_from(["input_tokens", "prompt_tokens", "cache_read_input_tokens", "output_tokens"]),
    Json,
)
_EVENT = Json | st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["content_block_delta", "message_start", "x.delta"]) | Json,
        "usage": _USAGE | Json,
        "model": Json,
        "message": st.fixed_dictionaries({"usage": _USAGE, "model": Json}) | Json,
        "response": st.fixed_dictionaries({"usage": _USAGE, "model": Json}) | Json,
        "content": Json,
        "index": Json,
        "delta": Json | st.fixed_dictionaries({"type": Json, "text": Json, "partial_json": Json}),
        "content_block": Json | st.fixed_dictionaries({"type": Json, "name": Json, "input": Json}),
        "choices": Json | st.lists(st.fixed_dictionaries({"delta": Json, "index": Json} | {})),
    },
)
_LINE = st.builds(lambda event: b"data: " + json.dumps(event).encode(), _EVENT)
_STREAM = st.lists(
    _LINE | st.binary(max_size=12) | st.sampled_from([b"data:", b"", b"data: [DONE]", b"\r"])
).map(b"\n".join)
_BODY = _STREAM | st.builds(lambda event: json.dumps(event).encode(), _EVENT) | st.binary()


@settings(max_examples=150, deadline=None)
@given(_BODY, _TYPES, st.sampled_from(ENDPOINTS))
def test_any_response_is_read(body, content_type, endpoint):
    facts = read_response(endpoint, content_type, body)
    assert facts.model is None or isinstance(facts.model, str)
    usage = facts.usage
    for count in (usage.input_tokens, usage.cache_read, usage.output_tokens) if usage else ():
        assert count is None or (type(count) is int and count >= 0)
    reply = read_reply(endpoint, content_type, body)
    if reply is not None:
        assert all(isinstance(text, str) for text in (reply.text, reply.thinking))
        assert all(isinstance(call.arguments, str) for call in reply.calls)
    assert has_token(endpoint, body) in (True, False)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'data: {"delta":' * 100_000,
        b"data: " + b'{"usage":' * 100_000,
        b'data: {"usage":{"input_tokens":' + b"9" * 1_000_000 + b"}}",
        b'data: {"index":[[]],"delta":{"type":"input_json_delta","partial_json":"x"}}\n' * 10_000,
        b"delta" * 400_000,
        b"\n" * 2_000_000,
        b"data:\n" * 200_000,
    ],
    ids=["nested", "deltas", "usages", "digits", "unhashable", "word", "empty", "blank"],
)
def test_a_long_response_of_which_nothing_can_be_read(endpoint, body):
    """Each would take minutes where the work grew with the square of its length."""
    for content_type in (None, "text/event-stream", "application/json"):
        assert read_response(endpoint, content_type, body) == ResponseFacts()
        reply = read_reply(endpoint, content_type, body)
        assert reply is None or (reply.text, reply.thinking) == ("", "")
        assert not has_token(endpoint, body)
