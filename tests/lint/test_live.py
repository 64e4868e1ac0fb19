"""Probes of a server whose ways are scripted: it is fast, slow, stalls, refuses, dies."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from cachediag.errors import UpstreamError
from cachediag.lint.live import Bounds, probe

from .grammar.sessions import schema

BOUNDS = Bounds(seconds=1.5, tokens=16, recovery=1.0)
TOKEN = b'data: {"choices":[{"delta":{"content":"ok"}}]}\n\n'
OF_MESSAGES = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta",'
    b'"delta":{"type":"text_delta","text":"ok"}}\n\n'
)
DONE = b"data: [DONE]\n\n"
_NOTED_SECONDS = 0.09
"""Less than half of what the quickest late answer takes."""


def tool(name):
    return schema(name, {"title": name})


def response(name):
    return schema(name, {"title": name}, kind="response")


@dataclass
class Script:
    """A server's ways, by the name of the schema that it is sent; plain requests it answers."""

    ways: dict[str, Callable[[Any], None]]
    plain: Callable[[Any], None] = lambda reply: reply.stream(TOKEN, DONE)
    asked: list[str] = field(default_factory=list)
    most: int = 0
    """Requests that were in flight at once."""
    _running: int = 0
    _ended: threading.Condition = field(default_factory=threading.Condition)

    def __call__(self, request, reply) -> None:
        name = named(json.loads(request.body))
        with self._ended:
            self.asked.append(name or "plain")
            # Whoever has the end of an answer may ask again before this has noted it.
            self._ended.wait_for(lambda: not self._running, timeout=_NOTED_SECONDS)
            self._running += 1
            self.most = max(self.most, self._running)
        try:
            self.ways.get(name, Script.plain)(reply) if name else self.plain(reply)
        except OSError:
            pass  # The prober gave it up.
        finally:
            with self._ended:
                self._running -= 1
                self._ended.notify_all()


def named(body):
    if "tools" in body:
        (only,) = body["tools"]
        return only.get("name") or only["function"]["name"]
    form = body.get("response_format") or body.get("output_config", {}).get("format")
    return form and (form.get("json_schema") or form)["schema"]["title"]


def late(seconds, rest=0.0):
    def answer(reply):
        reply.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        time.sleep(seconds)
        reply.chunk(TOKEN)
        time.sleep(rest)
        reply.chunk(DONE)
        reply.raw(b"0\r\n\r\n")

    return answer


def probed(serve, script, schemas, **options):
    server = serve(script)
    return server, probe(server.url, schemas, model="m", bounds=BOUNDS, **options)


def test_each_schema_is_asked_for_once_and_in_order(serve) -> None:
    script = Script({"b": late(0.2)})
    told: list[str] = []
    schemas = [tool("a"), response("b"), tool("c")]
    server, found = probed(serve, script, schemas, tell=told.append, headers={"x-key": "1"})
    assert script.most == 1
    assert [each.state for each in found.probed] == ["answered"] * 3
    assert [each.schema for each in found.probed] == [0, 1, 2]
    assert all(each.healthy and each.first_token <= each.seconds for each in found.probed)
    assert (found.protocol, found.deadline, found.stopped) == ("chat", 1.5, False)
    assert [each for each in script.asked if each != "plain"] == ["a", "b", "c"]
    assert told == [f"probing {name}, {number} of 3" for number, name in enumerate("abc", 1)]
    assert [each.path for each in server.asked] == ["/health"] * 3
    assert {each.headers["x-key"] for each in server.received} == {"1"}


def test_what_is_sent(serve) -> None:
    server, _ = probed(serve, Script({}), [tool("a"), response("b c")])
    first, second = (json.loads(body) for body in server.bodies[-2:])
    assert (first["model"], first["max_tokens"], first["stream"]) == ("m", 16, True)
    assert first["tools"] == [
        {
            "type": "function",
            "function": {"name": "a", "parameters": {"title": "a"}, "strict": True},
        }
    ]
    assert first["tool_choice"] == {"type": "function", "function": {"name": "a"}}
    assert second["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "b_c", "schema": {"title": "b c"}, "strict": True},
    }


def test_a_first_token_that_comes_late_is_slow(serve) -> None:
    _, found = probed(serve, Script({"b": late(1.2)}), [tool("a"), tool("b")])
    first, second = found.probed
    assert (first.state, second.state) == ("answered", "slow")
    assert second.first_token >= 1.2


def test_an_answer_that_is_not_complete_is_slow_once_tokens_came(serve) -> None:
    _, found = probed(serve, Script({"a": late(0.0, rest=3.0)}), [tool("a"), tool("b")])
    first, second = found.probed
    assert (first.state, second.state) == ("slow", "answered")
    assert first.first_token < 1.0 < first.seconds < 2.5
    assert first.recovered is not None


def test_a_stall_that_the_server_recovers_from_is_named_and_the_run_goes_on(serve) -> None:
    script = Script({"b": late(2.0)})
    _, found = probed(serve, script, [tool("a"), tool("b"), tool("c")])
    assert [each.state for each in found.probed] == ["answered", "stalled", "answered"]
    stalled = found.probed[1]
    assert (stalled.first_token, stalled.healthy) == (None, True)
    assert stalled.recovered < 1.0
    assert not found.stopped


def test_a_stall_that_holds_up_all_that_follows_ends_the_run(serve) -> None:
    held = threading.Event()

    def plain(reply):
        if held.is_set():
            time.sleep(2.0)
        reply.stream(TOKEN, DONE)

    def stall(reply):
        held.set()
        time.sleep(2.0)

    script = Script({"b": stall}, plain)
    server = serve(script)
    found = probe(server.url, [tool("a"), tool("b"), tool("c")], model="m", bounds=BOUNDS)
    assert [each.state for each in found.probed] == ["answered", "stalled"]
    assert (found.probed[1].healthy, found.probed[1].recovered) == (False, None)
    assert found.stopped
    assert "c" not in script.asked


def test_a_server_that_dies_ends_the_run(serve) -> None:
    dead = threading.Event()

    def die(reply):
        dead.set()
        reply.hang_up()

    def plain(reply):
        reply.hang_up() if dead.is_set() else reply.stream(TOKEN, DONE)

    _, found = probed(serve, Script({"a": die}, plain), [tool("a"), tool("b")])
    (only,) = found.probed
    assert (only.state, only.healthy) == ("failed", False)
    assert "no answer" in only.message
    assert found.stopped


def test_a_busy_server_has_not_recovered_though_it_answers(serve) -> None:
    held = threading.Event()
    busy = b'data: {"error":{"message":"busy, retry later"}}\n\n'

    def stall(reply):
        held.set()
        time.sleep(1.8)

    def plain(reply):
        reply.stream(busy, DONE) if held.is_set() else reply.stream(TOKEN, DONE)

    _, found = probed(serve, Script({"a": stall}, plain), [tool("a"), tool("b")])
    assert [(each.state, each.healthy) for each in found.probed] == [("stalled", False)]


@pytest.mark.parametrize(
    "refuse",
    [
        lambda reply: reply.body(b"no uniqueItems here", 400),
        lambda reply: reply.stream(b'data: {"error":{"message":"no uniqueItems here"}}\n\n', DONE),
        lambda reply: reply.stream(b'data: {"error":"no uniqueItems here"}\n\n'),
    ],
)
def test_a_refusal_is_told_with_what_the_server_says(serve, refuse) -> None:
    _, found = probed(serve, Script({"a": refuse}), [tool("a"), tool("b")])
    first, second = found.probed
    assert (first.state, first.message, first.healthy) == ("refused", "no uniqueItems here", True)
    assert second.state == "answered"


def test_a_server_of_the_other_protocol(serve) -> None:
    def answer(request, reply):
        if request.path != "/v1/messages":
            reply.body(b"not found", 404)
            return
        reply.stream(OF_MESSAGES)

    server = serve(answer)
    found = probe(server.url, [tool("a"), response("b")], model="m", bounds=BOUNDS)
    assert found.protocol == "messages"
    assert [each.state for each in found.probed] == ["answered", "answered"]
    first, second = (json.loads(body) for body in server.bodies[-2:])
    assert first["tools"] == [{"name": "a", "input_schema": {"title": "a"}}]
    assert first["tool_choice"] == {"type": "tool", "name": "a"}
    assert second["output_config"]["format"] == {"type": "json_schema", "schema": {"title": "b"}}


def test_a_slow_server_is_given_more_time(serve) -> None:
    _, found = probed(serve, Script({"a": late(2.0)}, plain=late(0.25)), [tool("a")])
    assert found.plain >= 0.25
    assert found.deadline == pytest.approx(10 * found.plain)
    assert found.probed[0].state == "slow"


def test_the_recorded_model_is_asked_for_where_none_is_named(serve) -> None:
    server = serve(Script({}))
    schemas = [schema("a", model="x"), schema("b", model="y")]
    probe(server.url, schemas, bounds=BOUNDS)
    assert [json.loads(body)["model"] for body in server.bodies[-2:]] == ["x", "y"]


def test_a_server_that_answers_nothing_at_all_is_told(serve) -> None:
    server = serve(lambda _, reply: reply.body(b"loading", 503))
    with pytest.raises(UpstreamError, match="HTTP 503: loading"):
        probe(server.url, [tool("a")], model="m", bounds=BOUNDS)
    assert len(server.received) == 1
