"""The layer around the server, with an application of a few lines inside."""

import asyncio
import json
from typing import Any

import pytest

from cachediag.fix.patch.payload import registry
from cachediag.fix.patch.payload.http import Layer
from cachediag.fix.patch.payload.requests import Use, current


class Stream:
    """A generator of the engine that was left where it stood."""

    def __init__(self, error: Exception | None = None) -> None:
        self.is_closed = False
        self._error = error

    async def aclose(self) -> None:
        self.is_closed = True
        if self._error:
            raise self._error


class App:
    """Answers with these pieces, after it has served a prompt."""

    def __init__(self, *pieces: bytes, kind: str = "application/json", status: int = 200) -> None:
        self.use: Use | None = Use(100, 60, 50)
        self.streams: list[Any] = []
        self._pieces, self._kind, self._status = pieces, kind, status

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = current.get()
        assert request is not None
        request.use = self.use
        request.streams += self.streams
        size = str(sum(map(len, self._pieces))).encode()
        headers = [(b"content-type", self._kind.encode()), (b"content-length", size)]
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        for number, piece in enumerate(self._pieces, 1):
            more = number < len(self._pieces)
            await send({"type": "http.response.body", "body": piece, "more_body": more})


def asked(app: Any, path: str, method: str = "POST") -> tuple[dict[bytes, bytes], list[bytes]]:
    """What a client gets: the headers, and the body as it arrives."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": method, "path": path}
    asyncio.run(Layer(app)(scope, receive, send))
    assert current.get() is None
    return dict(sent[0]["headers"]), [message["body"] for message in sent[1:]]


def documents(path: str, document: object, app: App | None = None) -> Any:
    body = json.dumps(document).encode()
    app = app or App(body[:7], body[7:])
    headers, (answer,) = asked(app, path)
    assert int(headers[b"content-length"]) == len(answer)
    return json.loads(answer)


def test_messages_tell_of_cached_tokens_apart_from_the_input():
    made = documents("/v1/messages", {"usage": {"input_tokens": 100, "output_tokens": 3}})
    assert made["usage"] == {
        "input_tokens": 40,
        "cache_read_input_tokens": 60,
        "output_tokens": 3,
    }


def test_completions_tell_of_cached_tokens_as_a_part_of_the_prompt():
    usage = {"prompt_tokens": 100, "completion_tokens": 3, "total_tokens": 103}
    made = documents("/v1/chat/completions", {"usage": usage})
    assert made["usage"] == {**usage, "prompt_tokens_details": {"cached_tokens": 60}}


def test_a_prompt_that_was_not_counted_is():
    usage = {"prompt_tokens": 0, "completion_tokens": 3, "total_tokens": 3}
    made = documents("/v1/completions", {"usage": usage})
    assert made["usage"]["prompt_tokens"] == 100
    assert made["usage"]["total_tokens"] == 103


def test_responses_tell_of_it_too():
    made = documents("/v1/responses", {"usage": {"input_tokens": 100}})
    assert made["usage"]["input_tokens_details"] == {"cached_tokens": 60}
    made = documents("/v1/responses", {"response": {"usage": {"input_tokens": 100}}})
    assert made["response"]["usage"]["input_tokens_details"] == {"cached_tokens": 60}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", b'{"usage": null}'),
        ("/v1/messages", b"[1]"),
        ("/v1/messages", b'{"usage": {'),
        ("/v1/messages/count_tokens", b'{"usage": {"input_tokens": 5}}'),
        ("/v1/chat/completions", b'{"usage": {"input_tokens": 5}}'),
        ("/v1/embeddings", b'{"usage": {"prompt_tokens": 5}}'),
    ],
)
def test_other_answers_stay_as_they_are(path, body):
    assert asked(App(body), path)[1] == [body]


def test_an_answer_to_what_was_not_served_from_the_cache_stays_as_it_is():
    app = App(b'{"usage": {"input_tokens": 5}}')
    app.use = None
    assert asked(app, "/v1/messages")[1] == [b'{"usage": {"input_tokens": 5}}']


@pytest.mark.parametrize(
    "app",
    [
        App(b'{"usage": {"input_tokens": 5}}', status=500),
        App(b'{"usage": {"input_tokens": 5}}', kind="text/plain"),
    ],
)
def test_errors_and_texts_stay_as_they_are(app):
    assert asked(app, "/v1/messages")[1] == [b'{"usage": {"input_tokens": 5}}']


START = b'event: message_start\ndata: {"type": "message_start", "message": {"usage": {}}}\n\n'
DELTA = b'event: content_block_delta\ndata: {"type": "content_block_delta"}\n\n'
END = b'event: message_delta\ndata: {"type": "message_delta", "usage": {"output_tokens": 2}}\n\n'
TOLD = (
    b'event: message_delta\ndata: {"type": "message_delta", "usage": {"output_tokens": 2, '
    b'"input_tokens": 40, "cache_read_input_tokens": 60}}\n\n'
)
SSE = "text/event-stream; charset=utf-8"


def test_a_stream_goes_on_piece_by_piece():
    app = App(START, b": heartbeat\n\n", DELTA, END, b"", kind=SSE)
    assert asked(app, "/v1/messages")[1] == [START, b": heartbeat\n\n", DELTA, TOLD, b""]


@pytest.mark.parametrize("size", [1, 7, 20, 1000])
def test_events_that_come_in_parts_or_together(size):
    whole = START + DELTA + END
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    _, got = asked(App(*pieces, kind=SSE), "/v1/messages")
    assert b"".join(got) == START + DELTA + TOLD


def test_a_stream_of_completions():
    event = b'data: {"choices": [], "usage": {"prompt_tokens": 100}}\n\ndata: [DONE]\n\n'
    _, got = asked(App(event, kind=SSE), "/v1/chat/completions")
    first = b"".join(got).partition(b"\n\n")[0]
    assert json.loads(first.removeprefix(b"data: "))["usage"] == {
        "prompt_tokens": 100,
        "prompt_tokens_details": {"cached_tokens": 60},
    }
    assert b"".join(got).endswith(b"\n\ndata: [DONE]\n\n")


def test_generators_that_a_client_left_are_closed():
    app = App(b"{}")
    app.streams = [Stream(), Stream(RuntimeError("already running")), Stream()]
    asked(app, "/v1/messages")
    assert [stream.is_closed for stream in app.streams] == [True] * 3


def test_they_are_closed_when_the_request_fails_too():
    stream = Stream()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        request = current.get()
        assert request is not None
        request.streams.append(stream)
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        asked(app, "/v1/messages")
    assert stream.is_closed


def test_a_client_that_goes_away_is_noticed():
    noticed = list[bool]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        request = current.get()
        assert request is not None
        noticed.append(request.is_left)
        assert (await receive())["type"] == "http.disconnect"
        noticed.append(request.is_left)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    asked(app, "/v1/messages")
    assert noticed == [False, True]


class Cache:
    takes_system_anywhere = True

    def stats(self) -> dict[str, Any]:
        return {"state": "on"}

    def clear(self) -> int:
        return 3


def test_statistics_and_clearing(monkeypatch):
    app = App(b'{"engine_cache": null}')
    key = "cachediag_prefix_cache"
    (body,) = asked(app, "/v1/cache/stats", "GET")[1]
    assert json.loads(body)[key]["state"] == "off"
    monkeypatch.setitem(registry.caches, 1, Cache())
    (body,) = asked(app, "/v1/cache/stats", "GET")[1]
    assert json.loads(body) == {"engine_cache": None, key: {"version": "1", "state": "on"}}
    (body,) = asked(app, "/v1/cache", "DELETE")[1]
    assert json.loads(body)[key] == {"dropped_slots": 3}


def test_who_may_not_clear_does_not(monkeypatch):
    cache = Cache()
    monkeypatch.setattr(cache, "clear", lambda: pytest.fail("it was cleared"))
    monkeypatch.setitem(registry.caches, 1, cache)
    assert asked(App(b"{}", status=401), "/v1/cache", "DELETE")[1] == [b"{}"]


def test_what_is_no_request_passes():
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    async def none(*_: Any) -> Any:
        pass

    asyncio.run(Layer(app)({"type": "lifespan"}, none, none))
    assert seen == ["lifespan"]


@pytest.mark.parametrize(
    ("reused", "system", "kind"),
    [(0, 50, "miss"), (0, 0, "miss"), (40, 50, "partial hit"), (50, 50, "hit"), (40, 0, "hit")],
)
def test_what_counts_as_a_hit(reused, system, kind):
    assert Use(100, reused, system).kind == kind
