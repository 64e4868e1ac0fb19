"""A middleware for ASGI applications that applies rules to the requests that come in."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from cachediag.rules.exports.scripts.common import applied, protocol_at

__all__ = ["CachediagRules"]

# A longer request is passed on as it comes: it would have to be held in memory.
_LONGEST = 64 * 1024 * 1024

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[_Message, _Receive, _Send], Awaitable[None]]


class CachediagRules:
    """Stands before an application; responses and all other requests pass through it untouched.

    Args:
        app: the application.
    """

    def __init__(self, app: _App) -> None:
        self._app = app

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        """Answer a request."""
        protocol = _protocol(scope)
        if protocol is None:
            await self._app(scope, receive, send)
            return
        messages = await _read(receive)
        body = b"".join(message.get("body", b"") for message in messages)
        is_whole = messages[-1]["type"] == "http.request" and not messages[-1].get("more_body")
        changed = applied(body, protocol) if is_whole else body
        if changed is not body:
            scope = {**scope, "headers": _headers(scope, len(changed))}
            messages = [{"type": "http.request", "body": changed, "more_body": False}]
        await self._app(scope, _replay(messages, receive), send)


def _protocol(scope: _Message) -> str | None:
    """The protocol of the rules for a request; None where it need not be read."""
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    if any(name.lower() == b"content-encoding" for name, _ in scope["headers"]):
        return None
    return protocol_at(scope["path"])


async def _read(receive: _Receive) -> list[_Message]:
    """What comes in until the body has its end, the client is gone, or the body is too long."""
    messages: list[_Message] = []
    size = 0
    while size <= _LONGEST:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            break
    return messages


def _headers(scope: _Message, size: int) -> list[tuple[bytes, bytes]]:
    return [
        (name, b"%d" % size if name.lower() == b"content-length" else value)
        for name, value in scope["headers"]
    ]


def _replay(messages: list[_Message], receive: _Receive) -> _Receive:
    """Give what was read once more, then go on with what comes."""
    waiting = iter(messages)

    async def next_message() -> _Message:
        message = next(waiting, None)
        return await receive() if message is None else message

    return next_message
