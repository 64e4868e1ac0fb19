"""What is moved stands at the end of the newest message, in each protocol's own form."""

import json
from typing import Any

import pytest

from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.rule import Rule

USER = {"role": "user", "content": "hi"}
CALL = {"role": "assistant", "content": "…"}
NOW = {"type": "text", "text": "now"}


def moved(protocol: str, body: dict) -> Any:
    path = {
        "messages": "system[0].text",
        "chat": "messages[0].content",
        "responses": "instructions",
    }
    rule = Rule("r", "V02", "move-to-end", protocol, path[protocol], pattern=r"^now\n")
    raw = json.dumps(body).encode()
    return json.loads(apply_rules(raw, protocol, [rule]).body)


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        ([USER], [{"role": "user", "content": [{"type": "text", "text": "hi"}, NOW]}]),
        (
            [{"role": "user", "content": [{"type": "tool_result"}]}],
            [{"role": "user", "content": [{"type": "tool_result"}, NOW]}],
        ),
        ([{"role": "user", "content": []}], [{"role": "user", "content": [NOW]}]),
        (
            [{"role": "user", "content": []}, CALL],
            [{"role": "user", "content": [NOW]}, CALL],
        ),
        (
            [USER, {"role": "system", "content": "s"}],
            [USER, {"role": "system", "content": "s"}, {"role": "user", "content": "now"}],
        ),
    ],
)
def test_messages(talk, expected):
    body = {"system": [{"type": "text", "text": "a\nnow\nb"}], "messages": talk}
    made = moved("messages", body)
    assert made == {"system": [{"type": "text", "text": "a\nb"}], "messages": expected}


SYSTEM = {"role": "system", "content": "now\na"}


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        ([USER], [{"role": "user", "content": [{"type": "text", "text": "hi"}, NOW]}]),
        (
            [USER, CALL, {"role": "tool", "content": "42"}],
            [USER, CALL, {"role": "tool", "content": "42"}, {"role": "user", "content": "now"}],
        ),
    ],
)
def test_chat(talk, expected):
    made = moved("chat", {"messages": [SYSTEM, *talk]})
    assert made == {"messages": [{"role": "system", "content": "a"}, *expected]}


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        ("hi", [USER, {"role": "user", "content": "now"}]),
        (
            [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "hi"},
                        {"type": "input_text", "text": "now"},
                    ],
                }
            ],
        ),
        (
            [USER, {"type": "function_call_output", "output": "42"}],
            [
                USER,
                {"type": "function_call_output", "output": "42"},
                {"role": "user", "content": "now"},
            ],
        ),
    ],
)
def test_responses(talk, expected):
    made = moved("responses", {"instructions": "a\nnow\n", "input": talk})
    assert made == {"instructions": "a\n", "input": expected}


@pytest.mark.parametrize("talk", [[], [CALL], None])
def test_without_a_users_message_nothing_is_moved(talk):
    body = {"system": [{"type": "text", "text": "now\nb"}], "messages": talk}
    assert moved("messages", body) == body


def test_two_pieces_keep_their_order():
    rules = [
        Rule(name, "V02", "move-to-end", "messages", "system[*].text", pattern=rf"^{name}\n")
        for name in ("now", "then")
    ]
    body = {"system": [{"type": "text", "text": "then\nnow\nb"}], "messages": [USER]}
    made = json.loads(apply_rules(json.dumps(body).encode(), "messages", rules).body)
    assert made["system"][0]["text"] == "b"
    assert [block["text"] for block in made["messages"][0]["content"]] == ["hi", "now", "then"]
