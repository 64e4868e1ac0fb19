"""Text of a user, of the model or of a tool, told from what a client wrote."""

from dataclasses import replace

import pytest

from cachediag.protocol import parse
from cachediag.rules.checking.likeness import is_of_others, look_alike
from cachediag.rules.engine.applied import Change
from cachediag.rules.rule import Rule
from tests.compare.bodies import body, raw

RULE = Rule("r", "V02", "pin", "messages", "messages[*].content[*].text", r"^The date is (.{10})")
KEYS = Rule("k", "O02", "sort", "messages", "messages[*].content[*].input", by="keys")
SENT = parse(raw(body()), "messages")


def test_text_around_the_users_words_is_alike_unless_it_may_be_changed():
    assert look_alike(RULE, SENT) == "messages[0].content[0].text"
    assert look_alike(replace(RULE, messages=True), SENT) is None


def test_a_pattern_that_matches_none_of_it_is_not_alike():
    assert look_alike(replace(RULE, pattern=r"^It is (.{10})"), SENT) is None


def test_the_users_own_words_are_alike_whatever_is_allowed():
    quoting = replace(RULE, pattern=r"^Fix the (berth)", messages=True)
    assert look_alike(quoting, SENT) == "messages[0].content[1].text"


def test_the_models_arguments_are_its_own():
    assert look_alike(KEYS, SENT) == "messages[1].content[2].input"
    assert look_alike(replace(KEYS, arguments=True), SENT) is None


def test_a_rule_of_another_protocol_or_for_another_part_is_not_alike():
    assert look_alike(replace(RULE, protocol="chat"), SENT) is None
    assert look_alike(replace(RULE, path="system[*].text"), SENT) is None
    assert look_alike(Rule("i", "S07", "keep-inline", "messages", "messages[*]"), SENT) is None


@pytest.mark.parametrize(
    ("path", "rule", "wrong"),
    [
        ("system[0].text", RULE, False),
        ("tools[0].input_schema", KEYS, False),
        ("messages[0].content[0].text", RULE, True),
        ("messages[0].content[0].text", replace(RULE, messages=True), False),
        ("messages[0].content[1].text", replace(RULE, messages=True), True),
        ("messages[1].content[1].text", replace(RULE, messages=True), True),
        ("messages[1].content[2].input", KEYS, True),
        ("messages[1].content[2].input", replace(KEYS, arguments=True), False),
        ("messages[2].content[0].content", replace(RULE, messages=True), True),
        ("messages[2]", replace(RULE, messages=True), True),
    ],
)
def test_a_change_is_judged_by_the_block_that_it_is_in(path, rule, wrong):
    assert is_of_others(rule, Change("r", path, "a", "b", 1), SENT) is wrong


def test_a_system_message_among_the_others_is_the_clients():
    made = body()
    made["messages"].insert(1, {"role": "system", "content": "The date is 2026-11-29."})
    sent = parse(raw(made), "messages")
    change = Change("r", "messages[1].content", "2026-11-29", "x", 10)
    assert not is_of_others(RULE, change, sent)
    inline = Change("i", "messages[1].role", "system", "user", 8)
    assert not is_of_others(
        Rule("i", "S07", "keep-inline", "messages", "messages[*]"), inline, sent
    )


def test_a_system_message_at_the_head_is_the_clients_and_what_follows_is_not():
    talk = [("system", "The date is 2026-11-29."), ("user", "The date is 2026-11-29.")]
    messages = [{"role": role, "content": text} for role, text in talk]
    sent = parse(raw({"messages": messages}), "chat")
    rule = replace(RULE, protocol="chat", path="messages[*].content")
    judged = [
        is_of_others(rule, Change("r", f"messages[{number}].content", "a", "b", 1), sent)
        for number in range(3)
    ]
    assert judged == [False, True, False]


DROP = Rule(
    "d", "V01", "drop-block", "messages", "messages[*].content[*]", r"\AFix the berth plan\.\z"
)


def test_a_block_that_would_be_dropped_is_alike_where_all_its_text_matches():
    assert look_alike(DROP, SENT) == "messages[0].content[1]"
    assert look_alike(replace(DROP, pattern=r"\AFix the berth\z"), SENT) is None
    # Without a pattern every block of text is dropped, the first of them the client's own.
    assert look_alike(replace(DROP, pattern=None), SENT) == "messages[0].content[0]"
    assert look_alike(replace(DROP, pattern=None, path="messages[1].content[2]"), SENT) is None
