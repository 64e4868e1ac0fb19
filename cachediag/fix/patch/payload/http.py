"""A layer around the server: says in the answers what was reused, and ends what clients leave.

Answers are held back only where they are one JSON document. Of a stream each chunk goes on at once,
byte for byte but for the event that tells of usage.
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .registry import caches
from .requests import Request, Use, current

__all__ = ["Layer"]

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Document = dict[str, Any]
Change = Callable[[Document], bool]
"""Changes a document in place; tells whether it did."""

STATS = "cachediag_prefix_cache"
"""The key under which `/v1/cache/stats` tells of the cache."""

VERSION = "1"


class Layer:
    """The layer, as ASGI servers call it.

    Args:
        app: what is inside.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request()
        change = _change(scope["method"], scope["path"], request)
        token = current.set(request)

        try:
            answer = send if change is None else _Answer(send, change)
            await self._app(scope, _Watched(receive, request), answer)
        finally:
            await request.close()
            current.reset(token)


class _Watched:
    """Hands on what the client sends, and notes when it goes away."""

    def __init__(self, receive: Receive, request: Request) -> None:
        # Upstream looks for its server's connection behind an attribute of this name.
        self._receive = receive
        self._request = request

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._request.is_left = True
        return message


class _Answer:
    """Takes an answer piece by piece, and sends it on with what is to be changed in it."""

    def __init__(self, send: Send, change: Change) -> None:
        self._send = send
        self._change = change
        self._held: Message | None = None
        self._body = b""
        self._is_stream = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kind = dict(message["headers"]).get(b"content-type", b"")
            self._is_stream = kind.startswith(b"text/event-stream")
            if kind.startswith(b"application/json") and message["status"] == 200:
                self._held = message
                return
        elif message["type"] == "http.response.body":
            if self._held is not None:
                await self._document(message)
                return
            if self._is_stream:
                message = {**message, "body": self._events(message)}
        await self._send(message)

    async def _document(self, message: Message) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body", False) or self._held is None:
            return
        body = _changed(self._body, self._change)
        length = (b"content-length", str(len(body)).encode())
        headers = [each for each in self._held["headers"] if each[0].lower() != length[0]]
        start, self._held = {**self._held, "headers": [*headers, length]}, None
        await self._send(start)
        await self._send({**message, "body": body})

    def _events(self, message: Message) -> bytes:
        """The complete events of what has come so far."""
        whole = self._body + message.get("body", b"")
        if not message.get("more_body", False):
            self._body = b""
            return self._event(whole)
        end = whole.rfind(b"\n\n") + 2
        if end < 2:
            # Comments keep a connection alive, and do not wait.
            end = len(whole) if whole.startswith(b":") else 0
        self._body = whole[end:]
        return self._event(whole[:end])

    def _event(self, events: bytes) -> bytes:
        if b'"usage"' not in events:
            return events
        lines = events.split(b"\n")
        for number, line in enumerate(lines):
            name, colon, value = line.partition(b":")
            if name == b"data" and colon:
                lines[number] = b"data: " + _changed(value.strip(), self._change)
        return b"\n".join(lines)


def _change(method: str, path: str, request: Request) -> Change | None:
    if (method, path) == ("GET", "/v1/cache/stats"):
        return _tell_stats
    if (method, path) == ("DELETE", "/v1/cache"):
        return _clear
    if method == "POST" and path in _USAGES:
        usage = _USAGES[path]
        return lambda document: request.use is not None and usage(document, request.use)
    return None


def _changed(body: bytes, change: Change) -> bytes:
    try:
        document = json.loads(body)
    except ValueError:
        return body
    if not isinstance(document, dict) or not change(document):
        return body
    return json.dumps(document).encode()


def _tell_stats(document: Document) -> bool:
    stats = [each.stats() for each in caches.values()]
    told = stats[0] if stats else {"state": "off", "reason": "no model is served by it"}
    document[STATS] = {"version": VERSION, **told}
    return True


def _clear(document: Document) -> bool:
    document[STATS] = {"dropped_slots": sum(each.clear() for each in caches.values())}
    return True


def _messages(document: Document, use: Use) -> bool:
    usage = document.get("usage")
    if not isinstance(usage, dict) or document.get("type") == "message_start":
        return False
    # What was read from a cache is no part of the input there.
    usage["input_tokens"] = use.prefilled_tokens
    usage["cache_read_input_tokens"] = use.reused_tokens
    return True


def _completions(document: Document, use: Use) -> bool:
    usage = document.get("usage")
    if not isinstance(usage, dict) or "prompt_tokens" not in usage:
        return False
    if not usage["prompt_tokens"]:
        # Old releases do not count the prompt where they do not stream.
        usage["prompt_tokens"] = use.prompt_tokens
        usage["total_tokens"] = usage.get("total_tokens", 0) + use.prompt_tokens
    details = usage.get("prompt_tokens_details") or {}
    usage["prompt_tokens_details"] = {**details, "cached_tokens": use.reused_tokens}
    return True


def _responses(document: Document, use: Use) -> bool:
    response = document.get("response", document)
    usage = response.get("usage") if isinstance(response, dict) else None
    if not isinstance(usage, dict):
        return False
    details = usage.get("input_tokens_details") or {}
    usage["input_tokens_details"] = {**details, "cached_tokens": use.reused_tokens}
    return True


_USAGES: dict[str, Callable[[Document, Use], bool]] = {
    "/v1/messages": _messages,
    "/v1/chat/completions": _completions,
    "/v1/completions": _completions,
    "/v1/responses": _responses,
}
