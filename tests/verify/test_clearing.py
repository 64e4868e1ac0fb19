import socket

import pytest

from cachediag.verify.clearing import cleared


@pytest.mark.parametrize(
    ("said", "status", "done"),
    [
        (b'{"status":"cleared","engine_cache":null}', 200, True),
        (b'{"status":"no_engine"}', 200, False),
        (b'["cleared"]', 200, False),
        (b"cleared", 200, False),
        (b'{"status":"cleared"}', 404, False),
    ],
)
def test_only_a_server_that_says_so_has_cleared_its_caches(serve, said, status, done):
    server = serve(lambda _, reply: reply.body(said, status))
    assert cleared(f"{server.url}/", {"authorization": "Bearer k"}) is done
    (request,) = server.received
    assert (request.method, request.path) == ("DELETE", "/v1/cache")
    assert request.headers["authorization"] == "Bearer k"


def test_a_server_that_is_not_there_has_not():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert not cleared(f"http://127.0.0.1:{port}")
