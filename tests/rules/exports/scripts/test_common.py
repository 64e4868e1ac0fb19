import logging

import pytest

from cachediag.rules.exports.scripts.common import applied, is_ruled, protocol_at


@pytest.mark.parametrize(
    ("path", "protocol"),
    [
        ("/v1/messages?beta=true", "messages"),
        ("https://host/prefix/v1/messages/count_tokens", "messages"),
        ("/v1/chat/completions", "chat"),
        ("/v1/responses", None),
        ("/v1/threads/t1/messages", None),
        ("/v1/embeddings", None),
    ],
)
def test_only_requests_that_a_rule_is_for_have_a_protocol(path, protocol):
    assert protocol_at(path) == protocol


def test_which_protocols_are_ruled():
    assert [name for name in ("messages", "chat", "responses") if is_ruled(name)] == [
        "messages",
        "chat",
    ]


def test_the_rules_are_applied(sent, ruled):
    assert applied(sent, "messages") == ruled
    assert applied(ruled, "messages") is ruled


def test_what_is_pinned_is_remembered():
    bodies = [
        b'{"model":"m","system":[{"text":"Status: %b"}],"messages":[]}' % status
        for status in (b"clean", b"dirty")
    ]
    assert [applied(body, "messages") for body in bodies] == [bodies[0], bodies[0]]


def test_on_trouble_the_body_is_the_same_and_one_warning_is_given(sent, ruled, caplog):
    with caplog.at_level(logging.WARNING, "cachediag"):
        for body in (b"no json", b'{"system"', b"\xff"):
            assert applied(body, "messages") is body
        assert applied(sent, "messages") == ruled
    (record,) = caplog.records
    assert record.getMessage().startswith("cachediag rules: a request was passed on unchanged: ")
