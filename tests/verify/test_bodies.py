import json

import pytest
from hypothesis import given

from cachediag.errors import InputError
from cachediag.verify.bodies import salted, with_fields
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
        ({"system": "Be brief.", "messages": []}, {"system": "run-1 Be brief.", "messages": []}),
        (
            {"tools": [{"name": "a"}], "system": [{"text": "é", "type": "text"}], "messages": []},
            {
                "tools": [{"name": "a"}],
                "system": [{"text": "run-1 é", "type": "text"}],
                "messages": [],
            },
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "run-1 hi"}]}]},
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
    assert [message["content"] for message in made["messages"]] == ["run-1 a", "b"]
