import json

import pytest

from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.rule import Rule


def drop(path: str, protocol: str = "messages") -> Rule:
    return Rule(f"drop {path}", "V01", "drop-block", protocol, path, pattern=r"\Aold\d?\z")


def dropped(body: bytes, *rules: Rule) -> bytes:
    return apply_rules(body, rules[0].protocol, rules).body


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (b'["old", "a"]', b'["a"]'),
        (b'["a" , "old"]', b'["a"]'),
        (b'["old1","old2", "a"]', b'["a"]'),
        (b'["a" ,"old1", "old2" ]', b'["a" ]'),
        (b'["old1" , "a", "old2"]', b'["a"]'),
        (b'[ "old1", "old2" ]', b"[  ]"),
        (b'["old","b", "old1", "c"]', b'["b", "c"]'),
    ],
)
def test_commas_go_with_what_they_part(system, expected):
    body = b'{"system":' + system + b"}"
    assert dropped(body, drop("system[*]")) == b'{"system":' + expected + b"}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"system" : "old", "n":1}', b'{ "n":1}'),
        (b'{"n":1, "system":"old"}', b'{"n":1}'),
        (b'{"n":1, "system":"old" ,"m":2}', b'{"n":1 ,"m":2}'),
        (b'{"system":"old"}', b"{}"),
    ],
)
def test_a_system_that_is_one_string_goes_with_its_key(body, expected):
    assert dropped(body, drop("system")) == expected
    json.loads(expected)


def test_a_system_message_of_chat_goes_whole():
    body = b'{"messages":[{"role":"system","content":"old"},{"role":"user","content":"old"}]}'
    made = b'{"messages":[{"role":"user","content":"old"}]}'
    assert dropped(body, drop("messages[*]", "chat")) == made
    assert dropped(body, drop("messages[*].content", "chat")) is body


def test_a_text_that_matches_in_part_stays():
    body = b'{"system":["old and more","very old"]}'
    assert dropped(body, drop("system[*]")) is body
