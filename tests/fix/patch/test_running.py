"""Asking a server whether the cache is in force."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from cachediag.errors import UpstreamError
from cachediag.fix.patch import in_force

STATS = {"state": "on", "reason": None, "counters": {"hits": 2}}


@contextmanager
def answering(status: int, document: object) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(document).encode()
            self.send_response(status if self.path == "/v1/cache/stats" else 500)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "document", "expected"),
    [
        (200, {"cachediag_prefix_cache": STATS}, ("on", None, STATS)),
        (
            200,
            {"cachediag_prefix_cache": {"state": "off", "reason": "why"}},
            ("off", "why", {"state": "off", "reason": "why"}),
        ),
        (200, {"engine_cache": None}, ("absent", None, {})),
        (200, [], ("absent", None, {})),
        (404, {}, ("absent", None, {})),
    ],
)
def test_what_it_says(status, document, expected):
    with answering(status, document) as url:
        found = in_force(f"{url}/")
    assert (found.url, found.kind, found.reason, found.stats) == (url, *expected)
    assert found.counter("hits") == (2 if found.kind == "on" else 0)


def test_a_server_that_does_not_answer():
    with answering(401, {}) as url, pytest.raises(UpstreamError, match="HTTP 401"):
        in_force(url)
    with pytest.raises(UpstreamError, match="Connection refused") as caught:
        in_force(url)
    assert caught.value.where == f"{url}/v1/cache/stats"
