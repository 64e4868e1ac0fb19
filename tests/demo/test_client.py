"""The made-up client and the made-up server, without a proxy between them."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from cachediag.demo.client import play
from cachediag.demo.script import Script
from cachediag.demo.upstream import running_upstream
from cachediag.errors import UpstreamError

KEYS = (
    *("model", "messages", "system", "tools", "metadata", "max_tokens", "thinking"),
    *("context_management", "output_config", "stream"),
)
MARKER = {"type": "ephemeral"}


@pytest.fixture(scope="module")
def sent(words: Script) -> list[bytes]:
    with running_upstream(*words.lanes) as upstream:
        play(words, upstream.url)
    return upstream.received


def lane_of(words: Script, body: bytes) -> str:
    request = json.loads(body)
    (name,) = [
        lane.name
        for lane in words.lanes
        if (lane.model, list(lane.tools)) == (request["model"], request["tools"])
    ]
    return name


def main_requests(words: Script, sent: list[bytes]) -> list[Any]:
    return [json.loads(body) for body in sent if lane_of(words, body) == "main"]


def test_lanes_interleave(words: Script, sent: list[bytes]) -> None:
    lanes = [lane_of(words, body) for body in sent]
    assert lanes == ["main", "title", "main", "main", *["agent"] * 3, *["main"] * 4]


def test_bodies_are_compact_and_their_keys_in_order(sent: list[bytes]) -> None:
    for body in sent:
        request = json.loads(body)
        assert json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode() == body
        assert [key for key in KEYS if key in request] == list(request)


def test_main_requests_are_as_large_as_real_ones(words: Script, sent: list[bytes]) -> None:
    bodies = [len(body) for body in sent if lane_of(words, body) == "main"]
    assert min(bodies) > 50_000
    assert bodies == sorted(bodies)
    assert max(bodies) < 113_000


def test_the_billing_header_is_new_every_time(sent: list[bytes]) -> None:
    shape = re.compile(
        r"x-anthropic-billing-header: cc_version=2\.1\.113\.[0-9a-f]{3}; cc_entrypoint=cli;"
        r"( cc_is_subagent=true;)? cch=([0-9a-f]{5});"
    )
    headers = [json.loads(body)["system"][0] for body in sent]
    assert all(list(header) == ["type", "text"] for header in headers)
    found = [shape.fullmatch(header["text"]) for header in headers]
    assert len({match[2] for match in found if match}) == len(sent)
    assert sum(bool(match and match[1]) for match in found) == 3


def test_the_marker_moves_to_the_newest_block(words: Script, sent: list[bytes]) -> None:
    for body in sent:
        messages = json.loads(body)["messages"]
        blocks = [
            block
            for message in messages
            for block in (message["content"] if isinstance(message["content"], list) else [])
        ]
        assert [block for block in blocks if "cache_control" in block] == [blocks[-1]]
        assert blocks[-1]["cache_control"] == MARKER


def test_a_prompt_that_loses_its_marker_becomes_a_string(words: Script, sent: list[bytes]) -> None:
    first, second, *_ = main_requests(words, sent)
    text = words.main.prompts[0]
    assert first["messages"][0]["content"] == [
        {"type": "text", "text": text, "cache_control": MARKER}
    ]
    assert second["messages"][0]["content"] == text


def test_the_history_is_what_was_replied_and_returned(words: Script, sent: list[bytes]) -> None:
    *_, last = main_requests(words, sent)
    said = [each["content"] for each in last["messages"] if each["role"] == "assistant"]
    assert said == [list(step.content) for step in words.main.steps[:-1]]
    returned = [
        block["content"]
        for message in last["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    report = words.agent.steps[-1].content[0]["text"]
    results = [step.result or report for step in words.main.steps if step.call]
    assert returned == results


def test_an_error_of_the_server_is_told(words: Script, serve: Callable[..., Any]) -> None:
    server = serve(lambda _, reply: reply.body(b"{}", 502))
    with pytest.raises(UpstreamError, match="answered with status 502") as raised:
        play(words, server.url)
    assert raised.value.where == server.url.removeprefix("http://")
    assert raised.value.exit_code == 3


def test_a_server_that_is_gone_is_told(words: Script) -> None:
    with running_upstream(*words.lanes) as upstream:
        pass
    with pytest.raises(UpstreamError, match="gave no answer"):
        play(words, upstream.url)


def test_a_server_that_hangs_up_is_told(words: Script, serve: Callable[..., Any]) -> None:
    server = serve(lambda _, reply: reply.hang_up())
    with pytest.raises(UpstreamError, match="gave no answer"):
        play(words, server.url)
