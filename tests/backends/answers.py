"""Answers of servers, written out, and a server that gives them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeVar

from cachediag.backends.asking import Response

T = TypeVar("T")


def there(value: T | None) -> T:
    assert value is not None
    return value


def answer(body: Any, status: int = 200, **headers: str) -> Response:
    text = body if isinstance(body, str) else json.dumps(body)
    return Response(status, {n.replace("_", "-"): v for n, v in headers.items()}, text.encode())


def owned_by(owner: str) -> Response:
    return answer({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owner}]})


def usage(**counts: Any) -> bytes:
    return json.dumps({"model": "m", "usage": counts}).encode()


@contextmanager
def serving(responses: Mapping[str, Response]) -> Iterator[tuple[str, list[str]]]:
    """A server; gives its address, and the requests that it got, which grow."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            found = responses.get(self.path, Response(404, {}, b"no"))
            self.send_response_only(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(found.body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
