"""A scripted model server on the loopback interface, for real clients to talk to.

It answers `POST /v1/messages` and `POST /v1/chat/completions`, as JSON and as an event stream,
`POST /v1/messages/count_tokens`, and nothing else. What it receives and sends is kept byte for
byte: the truth that a recording is held against.
"""

import itertools
import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import trustme

__all__ = [
    "Body",
    "Call",
    "Received",
    "Reply",
    "Script",
    "Text",
    "Turns",
    "Upstream",
    "localhost_tls",
]

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Words in a reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call, in a reply, of the tool `name` with `arguments`."""

    name: str
    arguments: Mapping[str, Any]


Reply = Sequence[Text | Call]
Script = Callable[[Body], Reply]


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came off the wire, and the whole body of the answer to it."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    answer: bytes

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)


class Turns:
    """A script that plays a list of replies for each user turn.

    A turn is recognised by a word in the user message that opens it; its next reply is the one
    whose position is the number of replies given since. The history alone decides, so lanes may
    interleave, and a client that starts anew may continue an old conversation. A request without
    tools (for a title, say) and one without a known turn are answered in plain text.
    """

    def __init__(self, turns: Mapping[str, Sequence[Reply]]) -> None:
        self._turns = dict(turns)

    def __call__(self, body: Body) -> Reply:
        said = 0
        for message in reversed(body["messages"] if body.get("tools") else []):
            if message["role"] == "assistant":
                said += 1
            for word, replies in self._turns.items():
                if message["role"] == "user" and word in _text_of(message):
                    return replies[said] if said < len(replies) else [Text("No more to say.")]
        return [Text("A made up title")]


class Upstream:
    """The server. Use it as a context manager.

    Args:
        script: decides on the reply from the decoded body.
        pause: seconds to wait before the last event of a stream.
        tls: serve https, as `localhost`, with this context.
    """

    def __init__(
        self, script: Script, *, pause: float = 0.0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.script = script
        self.pause = pause
        self._received: list[Received] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{port}"
        if tls is not None:
            # The handshake is left to the connection's own thread: a client that never speaks
            # must not stop the others from being accepted.
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
            self.url = f"https://localhost:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def received(self, route: str | None = None) -> list[Received]:
        """What came in so far, in order; only what went to `route` if that is given."""
        with self._lock:
            return [each for each in self._received if route in (None, each.route)]

    def keep(self, received: Received) -> None:
        """Remember a request."""
        with self._lock:
            self._received.append(received)


def localhost_tls(authority: Path) -> ssl.SSLContext:
    """Make a CA that vouches for `localhost`, and write its certificate to `authority`.

    Returns:
        The context for a server.
    """
    made = trustme.CA()
    made.cert_pem.write_to_path(authority)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.issue_cert("localhost").configure_cert(context)
    return context


def _handler(upstream: Upstream) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self._read()
            route = self.path.partition("?")[0]
            if route == "/v1/messages/count_tokens":
                self._answer(body, [_dump({"input_tokens": max(1, len(body) // 4)})])
            elif route in _WRITERS:
                request = json.loads(body)
                whole, events = _WRITERS[route]
                stream = bool(request.get("stream"))
                parts = (events if stream else whole)(upstream.script(request), request)
                self._answer(body, parts, stream=stream)
            else:
                self._missing(body)

        def do_GET(self) -> None:
            self._missing(self._read())

        def do_HEAD(self) -> None:
            self._missing(self._read())

        def _read(self) -> bytes:
            if "chunked" not in self.headers.get("transfer-encoding", ""):
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            body = b""
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _missing(self, body: bytes) -> None:
            error = {"type": "not_found_error", "message": "There is nothing here."}
            self._answer(body, [_dump({"type": "error", "error": error})], status=404)

        def _answer(
            self, body: bytes, parts: Sequence[bytes], *, status: int = 200, stream: bool = False
        ) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = b"".join(parts)
            upstream.keep(Received(self.command, self.path, headers, body, answer))
            self.send_response(status)
            if stream:
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
            else:
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
            self.end_headers()
            if stream:
                self._stream(parts)
            elif self.command != "HEAD":
                self.wfile.write(answer)

        def _stream(self, parts: Sequence[bytes]) -> None:
            for part in (*parts[:-1], None, parts[-1], b""):
                if part is None:
                    time.sleep(upstream.pause)
                else:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                    self.wfile.flush()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            """Keep quiet."""

    return Handler


def _text_of(message: Mapping[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content)


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


_numbers = itertools.count(1)
_USAGE = {"input_tokens": 100, "output_tokens": 10}


def _calls(reply: Reply) -> bool:
    return any(isinstance(part, Call) for part in reply)


def _message(reply: Reply, request: Body) -> dict[str, Any]:
    """A `/v1/messages` answer."""
    content: list[dict[str, Any]] = []
    for part in reply:
        if isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
        else:
            name, call = f"toolu_{next(_numbers):020}", dict(part.arguments)
            content.append({"type": "tool_use", "id": name, "name": part.name, "input": call})
    return {
        "id": f"msg_{next(_numbers):020}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if _calls(reply) else "end_turn",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _message_json(reply: Reply, request: Body) -> list[bytes]:
    return [_dump(_message(reply, request))]


def _message_events(reply: Reply, request: Body) -> list[bytes]:
    message = _message(reply, request)
    start = message | {"content": [], "stop_reason": None, "usage": _USAGE | {"output_tokens": 1}}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(message["content"]):
        opened, deltas = _parts(block)
        events += [
            {"type": "content_block_start", "index": index, "content_block": opened},
            *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {"type": "message_delta", "delta": ended, "usage": _USAGE},
        {"type": "message_stop"},
    ]
    return [f"event: {each['type']}\ndata: ".encode() + _dump(each) + b"\n\n" for each in events]


def _parts(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A content block as it opens, and the deltas that fill it."""
    if block["type"] == "text":
        half = len(block["text"]) // 2
        texts = block["text"][:half], block["text"][half:]
        return block | {"text": ""}, [{"type": "text_delta", "text": text} for text in texts]
    arguments = _dump(block["input"]).decode()
    return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": arguments}]


def _chat(reply: Reply, request: Body, kind: str, key: str) -> dict[str, Any]:
    """A `/v1/chat/completions` answer, under `message`, or under `delta` in a stream."""
    texts = [part.text for part in reply if isinstance(part, Text)]
    said: dict[str, Any] = {"role": "assistant", "content": "".join(texts) or None}
    calls: list[dict[str, Any]] = []
    for part in reply:
        if isinstance(part, Call):
            function = {"name": part.name, "arguments": _dump(dict(part.arguments)).decode()}
            call = {"id": f"call_{next(_numbers):020}", "type": "function", "function": function}
            calls.append(({"index": len(calls)} if key == "delta" else {}) | call)
    return {
        "id": f"chatcmpl-{next(_numbers)}",
        "object": kind,
        "created": 1_700_000_000,
        "model": request["model"],
        "choices": [
            {
                "index": 0,
                key: said | ({"tool_calls": calls} if calls else {}),
                "finish_reason": None,
            }
        ],
    }


def _chat_json(reply: Reply, request: Body) -> list[bytes]:
    answer = _chat(reply, request, "chat.completion", "message")
    answer["choices"][0]["finish_reason"] = "tool_calls" if _calls(reply) else "stop"
    return [_dump(answer | {"usage": _CHAT_USAGE})]


def _chat_events(reply: Reply, request: Body) -> list[bytes]:
    first = _chat(reply, request, "chat.completion.chunk", "delta")
    reason = "tool_calls" if _calls(reply) else "stop"
    last = first | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    usage = first | {"choices": [], "usage": _CHAT_USAGE}
    events = [_dump(first), _dump(last), _dump(usage), b"[DONE]"]
    return [b"data: " + event + b"\n\n" for event in events]


_CHAT_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}

_Writer = Callable[[Reply, Body], list[bytes]]
_WRITERS: dict[str, tuple[_Writer, _Writer]] = {
    "/v1/messages": (_message_json, _message_events),
    "/v1/chat/completions": (_chat_json, _chat_events),
}
