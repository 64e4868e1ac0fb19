"""Parts of HTTP/1.1 that mitmproxy by itself stumbles over."""

import socket

import pytest

from tests.conftest import Received, Reply

REQUEST = (
    b"POST /v1/messages HTTP/%b\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
)
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\nLink: </more.css>\r\n\r\n"
BARE = b"HTTP/1.1 102 Processing\n\n"
FINAL = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def said(address: tuple[str, int], request: bytes) -> bytes:
    """All that a client hears until the connection is closed."""
    with socket.create_connection(address, timeout=20) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize(
    "pieces",
    [
        (HINTS + FINAL,),
        (HINTS, FINAL),
        (BARE + HINTS + FINAL[:30], FINAL[30:]),
        tuple(bytes([byte]) for byte in HINTS + FINAL),
    ],
    ids=["at once", "apart", "two and a half", "by byte"],
)
def test_interim_responses_pass_and_the_answer_is_the_last_one(serve, recorder, pieces):
    def answer(request: Received, reply: Reply) -> None:
        for piece in pieces:
            reply.raw(piece)

    with recorder(serve(answer).url) as recorded:
        assert said(recorded.address, REQUEST % b"1.1") == b"".join(pieces)
    exchange = recorded.exchange()
    assert (exchange.info.status, exchange.response, exchange.info.error) == (200, b"hello", None)


def test_a_client_that_knows_no_interim_responses_gets_none(serve, recorder):
    with recorder(serve(lambda request, reply: reply.raw(HINTS + FINAL)).url) as recorded:
        assert said(recorded.address, REQUEST % b"1.0") == FINAL
    assert recorded.exchange().response == b"hello"


def test_trailers_of_an_answer_are_dropped_and_its_end_comes(serve, recorder):
    def answer(request: Received, reply: Reply) -> None:
        reply.head(transfer_encoding="chunked", trailer="x-sum")
        reply.chunk(b"hello")
        reply.raw(b"0\r\nx-sum: 5\r\n\r\n")

    with recorder(serve(answer).url) as recorded:
        assert said(recorded.address, REQUEST % b"1.1").endswith(b"5\r\nhello\r\n0\r\n\r\n")
    exchange = recorded.exchange()
    assert (exchange.response, exchange.info.error) == (b"hello", None)


def test_trailers_of_a_request_are_dropped_and_it_goes_on(serve, recorder):
    server = serve(lambda request, reply: reply.body(b"hello"))
    request = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    with recorder(server.url) as recorded:
        request += b"Connection: close\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 2\r\n\r\n"
        assert said(recorded.address, request).endswith(b"hello")
    assert server.bodies == [b"{}"]
    assert recorded.exchange().request == b"{}"
