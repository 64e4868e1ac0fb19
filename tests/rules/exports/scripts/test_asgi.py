"""The middleware, called as a server calls it."""

import asyncio
import gzip
from typing import Any

import pytest

from cachediag.rules.exports.scripts import asgi
from cachediag.rules.exports.scripts.asgi import CachediagRules

Message = dict[str, Any]


class Server:
    """Gives messages to an application that reads a request to its end."""

    def __init__(self, *messages: Message, **scope: Any) -> None:
        self.waiting = list(messages)
        request = {"type": "http", "method": "POST", "path": "/v1/messages", "headers": []}
        self.scope: Message = request | scope
        self._total = len(messages)
        self.read_before = -1
        """Messages that were read before the application asked for one."""
        self.seen: list[Message] = []
        self.seen_scope: Any = None
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        return self.waiting.pop(0)

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen_scope = scope
        self.read_before = self._total - len(self.waiting)
        while not self.seen or self.seen[-1].get("more_body"):
            self.seen.append(await receive())
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})

    def run(self) -> None:
        asyncio.run(CachediagRules(self.application)(self.scope, self.receive, self.send))

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.seen)


def chunks(body: bytes, size: int) -> list[Message]:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1}
        for number, piece in enumerate(pieces)
    ]


def test_a_request_in_pieces_comes_whole_with_its_new_length(sent, ruled):
    headers = [(b"Content-Length", b"%d" % len(sent)), (b"x-twice", b"1"), (b"x-twice", b"2")]
    server = Server(*chunks(sent, 40), headers=headers)
    server.run()
    assert server.seen == [{"type": "http.request", "body": ruled, "more_body": False}]
    assert server.seen_scope["headers"] == [(b"Content-Length", b"%d" % len(ruled)), *headers[1:]]
    assert server.scope["headers"] is headers


def test_a_request_that_no_rule_changes_comes_as_it_was(ruled):
    messages = chunks(ruled, 40)
    server = Server(*messages)
    server.run()
    assert server.seen == messages
    assert server.seen_scope is server.scope


def test_what_the_application_sends_goes_on_as_it_is(sent):
    server = Server(*chunks(sent, 1_000))
    server.run()
    assert [message["body"] for message in server.sent] == [b"one", b"two"]


@pytest.mark.parametrize(
    "other",
    [
        {"method": "GET"},
        {"path": "/v1/embeddings"},
        {"path": "/v1/responses"},
        {"headers": [(b"content-encoding", b"gzip")]},
    ],
)
def test_other_requests_are_not_read(sent, other):
    server = Server(*chunks(gzip.compress(sent), 40), **other)
    server.run()
    assert server.read_before == 0
    assert server.body == gzip.compress(sent)


@pytest.mark.parametrize("kind", ["lifespan", "websocket"])
def test_what_is_no_request_passes(kind):
    seen: list[Any] = []

    async def application(*call: Any) -> None:
        seen.append(call)

    call = ({"type": kind}, object(), object())
    asyncio.run(CachediagRules(application)(*call))  # type: ignore[arg-type]
    assert seen == [call]


def test_a_client_that_goes_away_is_told_of(sent):
    gone = {"type": "http.disconnect"}
    messages = [{"type": "http.request", "body": sent, "more_body": True}, gone]
    server = Server(*messages)
    server.run()
    assert server.seen == messages
    assert server.body == sent


def test_one_that_goes_away_later_too(sent, ruled):
    gone = {"type": "http.disconnect"}
    server = Server({"type": "http.request", "body": sent, "more_body": False}, gone)
    asked: list[Any] = []

    async def application(_: Any, receive: Any, __: Any) -> None:
        asked.extend([await receive(), await receive()])

    asyncio.run(CachediagRules(application)(server.scope, server.receive, server.send))
    assert asked == [{"type": "http.request", "body": ruled, "more_body": False}, gone]


def test_a_request_too_long_to_hold_passes_piece_by_piece(sent, monkeypatch):
    monkeypatch.setattr(asgi, "_LONGEST", 100)
    messages = chunks(sent, 40)
    assert len(messages) > 4
    server = Server(*messages)
    server.run()
    assert server.read_before == 3
    assert server.seen == messages
