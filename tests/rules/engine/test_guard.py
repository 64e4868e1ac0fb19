"""Who wrote a text decides whether a rule may change it."""

import json
from typing import Any

import pytest

from cachediag.rules.engine.guard import may_touch
from cachediag.rules.engine.places import places
from cachediag.rules.rule import Rule

REMINDER = "<system-reminder>today</system-reminder>"
BODY = json.dumps(
    {
        "system": [{"type": "text", "text": "s"}],
        "tools": [{"name": "t", "description": "d"}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "context"},
                    {"type": "text", "text": "the user's words"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "input": {"b": 1}},
                    {"type": "text", "text": "<b>"},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "content": [{"type": "text", "text": REMINDER}]},
                    {"type": "text", "text": REMINDER},
                    {"type": "text", "text": "words before"},
                    {"type": "text", "text": "words"},
                ],
            },
            {"role": "user", "content": REMINDER},
            {"role": "user", "content": "words"},
            {"role": "system", "content": "inline"},
            {"role": "tool", "content": REMINDER},
            {"role": "user", "content": [{"type": "tool_result", "content": REMINDER}]},
        ],
    }
).encode()


def allowed(path: str, **flags: Any) -> bool:
    rule = Rule("r", "V02", flags.pop("action", "replace"), "messages", path, **flags)
    (place,) = places(BODY, path)
    return may_touch(BODY, rule, place)


@pytest.mark.parametrize(
    "path", ["system[0].text", "tools[0].description", "messages[5].content", "messages[5]"]
)
def test_what_the_client_says_to_the_model_may_be_changed(path):
    assert allowed(path)


@pytest.mark.parametrize(
    ("path", "with_flag"),
    [
        ("messages[0].content[0].text", True),
        ("messages[0].content[0]", True),
        ("messages[0].content[1].text", False),
        ("messages[0]", False),
        ("messages[0].content", False),
        ("messages[1].content[1].text", False),
        ("messages[2].content[0].content[0].text", False),
        ("messages[2].content[0]", False),
        ("messages[2].content[1].text", True),
        ("messages[2].content[2].text", False),
        ("messages[3].content", True),
        ("messages[4].content", False),
        ("messages[6].content", False),
        ("messages[7].content[0]", False),
        ("messages[7].content[0].content", False),
    ],
)
def test_in_the_talk_it_takes_the_flag_and_text_of_the_client(path, with_flag):
    assert not allowed(path)
    assert allowed(path, messages=True) is with_flag


def test_the_models_arguments_may_be_sorted_where_a_flag_says_so():
    path = "messages[1].content[0].input"
    assert allowed(path, action="sort", by="keys", arguments=True)
    assert not allowed(path, action="sort", by="keys", messages=True)
    assert not allowed(path, action="pin", arguments=True)
    assert not allowed(path, action="sort", by="lines", arguments=True)
