import json

import pytest
from hypothesis import given

from cachediag.errors import InputError
from cachediag.verify.bodies import replayed, salted, with_fields
from tests.rules.bodies import spellers


def test_a_field_is_replaced_and_the_rest_stays() -> None:
    body = b'{ "model" : "big", "messages":[],"max_tokens":\n4096 }'
    made = with_fields(body, {"max_tokens": b"1", "model": b'"tiny"'})
    assert made == b'{ "model" : "tiny", "messages":[],"max_tokens":\n1 }'


def test_a_field_that_is_not_there_is_added() -> None:
    assert with_fields(b'{"a":1 }', {"max_tokens": b"1"}) == b'{"a":1 ,"max_tokens":1}'
    assert with_fields(b"{}", {"a": b"1", "b": b"2"}) == b'{"a":1,"b":2}'


def test_what_is_no_object_is_an_error() -> None:
    with pytest.raises(InputError):
        with_fields(b"[]x", {})


@given(spellers)
def test_every_other_field_keeps_its_value(write):
    body = write.request({"max_tokens": write.value(), "messages": b"[]"})
    made, before = json.loads(with_fields(body, {"max_tokens": b"1"})), json.loads(body)
    assert made.pop("max_tokens") == 1
    del before["max_tokens"]
    assert made == before


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"system": "Be brief.", "messages": []}, {"system": "run-1\nBe brief.", "messages": []}),
        (
            {"tools": [{"name": "a"}], "system": [{"text": "é", "type": "text"}], "messages": []},
            {
                "tools": [{"name": "a"}],
                "system": [{"text": "run-1\né", "type": "text"}],
                "messages": [],
            },
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "run-1\nhi"}]}]},
        ),
        ({"messages": []}, {"messages": []}),
    ],
)
def test_a_salt_stands_at_the_head_of_the_first_text(body, expected):
    raw = json.dumps(body, ensure_ascii=False).encode()
    assert json.loads(salted(raw, "messages", "run-1")) == expected


def test_a_salt_in_chat_stands_in_the_system_message() -> None:
    raw = b'{"messages":[{"role":"system","content":"a"},{"role":"user","content":"b"}]}'
    made = json.loads(salted(raw, "chat", "run-1"))
    assert [message["content"] for message in made["messages"]] == ["run-1\na", "b"]


def test_a_replay_asks_for_the_same_prompt_and_a_short_reply() -> None:
    body = b'{"model":"opus","max_tokens":32000,"stream":true,"messages":[]}'
    assert replayed(body, "messages", model="tiny", max_tokens=1) == (
        b'{"model":"tiny","max_tokens":1,"stream":true,"messages":[]}'
    )
    assert replayed(body, "messages", model=None, max_tokens=2) == body.replace(b"32000", b"2")


@pytest.mark.parametrize(
    ("endpoint", "limit", "made"),
    [
        ("chat", "max_completion_tokens", {"max_completion_tokens": 1}),
        ("chat", "n", {"n": 9, "max_tokens": 1}),
        ("responses", "max_output_tokens", {"max_output_tokens": 1}),
        ("responses", "n", {"n": 9, "max_output_tokens": 1}),
    ],
)
def test_each_protocol_has_its_own_limit(endpoint, limit, made):
    body = json.dumps({limit: 9}).encode()
    assert json.loads(replayed(body, endpoint, model=None, max_tokens=1)) == made


def test_a_streamed_chat_is_asked_for_its_usage() -> None:
    body = b'{"stream":true,"stream_options":{"include_usage":false},"max_tokens":1}'
    made = json.loads(replayed(body, "chat", model=None, max_tokens=1))
    assert made["stream_options"] == {"include_usage": True}
    plain = b'{"stream":false,"max_tokens":1}'
    assert replayed(plain, "chat", model=None, max_tokens=1) == plain
