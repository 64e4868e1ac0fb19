import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.protocol.endpoint import endpoint_of, endpoint_of_body


@pytest.mark.parametrize(
    ("path", "endpoint"),
    [
        ("/v1/messages", "messages"),
        ("/v1/messages?beta=true", "messages"),
        ("/v1/messages/", "messages"),
        ("/messages", "messages"),
        ("/api/anthropic/v1/messages#x", "messages"),
        ("https://host.example/v1/messages?beta=true", "messages"),
        ("/v1/messages/count_tokens?beta=true", "count_tokens"),
        ("/v1/responses/input_tokens", "count_tokens"),
        ("/v1/chat/completions", "chat"),
        ("/openai/deployments/d/chat/completions?api-version=1", "chat"),
        ("/v1/responses", "responses"),
        ("/v1/responses/resp_1", "other"),
        ("/v1/messages/batches", "other"),
        ("/v1/threads/thread_1/messages", "other"),
        ("/v1/completions", "other"),
        ("/v1/mymessages", "other"),
        ("/v1/models?next=/v1/messages", "other"),
        ("/", "other"),
        ("", "other"),
    ],
)
def test_the_path_tells_the_endpoint(path: str, endpoint: str) -> None:
    assert endpoint_of(path) == endpoint


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("body", "endpoint"),
    [
        ({"messages": [USER], "system": "be brief"}, "messages"),
        ({"messages": [USER], "max_tokens": 5}, "messages"),
        ({"messages": [USER], "tools": [{"name": "t", "input_schema": {}}]}, "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}], "n": 1},
            "messages",
        ),
        # Newer clients of /v1/messages send system messages among the others.
        ({"messages": [USER, {"role": "system", "content": "x"}], "system": []}, "messages"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "cache_control": {}}]}]},
            "messages",
        ),
        ({"messages": [USER]}, "chat"),
        ({"messages": [{"role": "system", "content": "x"}, USER], "max_tokens": 5}, "chat"),
        ({"messages": [USER], "max_tokens": 5, "stop": ["x"]}, "chat"),
        (
            {"messages": [USER], "max_tokens": 5, "tools": [{"type": "function", "function": {}}]},
            "chat",
        ),
        ({"messages": [{"role": "assistant", "tool_calls": []}], "max_tokens": 5}, "chat"),
        (
            {
                "messages": [
                    {"role": "system", "content": [{"type": "text", "cache_control": {}}]},
                ]
            },
            "chat",
        ),
        (
            {
                "messages": [{"role": "user", "content": [{"type": "image_url"}]}],
                "max_tokens": 5,
            },
            "chat",
        ),
        ({"model": "m", "input": "hi"}, "responses"),
        ({"model": "m", "input": [USER], "instructions": "x"}, "responses"),
        ({"model": "m", "input": "hi", "encoding_format": "float"}, "other"),
        ({"model": "m", "prompt": "hi"}, "other"),
        ({"messages": "none"}, "other"),
        ({}, "other"),
    ],
)
def test_the_body_tells_the_endpoint(body: dict[str, object], endpoint: str) -> None:
    assert endpoint_of_body(body) == endpoint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "tools", "function", "x"]), inner
        )
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(JSON, JSON, JSON)
def test_no_body_is_too_odd(messages: object, tools: object, given_input: object) -> None:
    body = {"messages": messages, "tools": tools, "input": given_input}
    assert endpoint_of_body(body) in {"messages", "chat", "responses", "other"}
    assert (endpoint_of_body(body) in {"messages", "chat"}) == isinstance(messages, list)
