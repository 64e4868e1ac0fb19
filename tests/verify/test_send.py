import socket
import threading
import time

import pytest

from cachediag.errors import UpstreamError
from cachediag.verify.send import RefusedError, UnfinishedError, send

EVENTS = (
    b'event: message_start\ndata: {"type":"message_start","message":{}}\n\n',
    b'event: content_block_delta\ndata: {"type":"content_block_delta",',
    b'"delta":{"type":"text_delta","text":"hi"}}\n\nevent: message_stop\n',
    b'data: {"type":"message_stop"}\n\n',
)


def test_the_first_token_is_timed_and_not_the_first_event(serve) -> None:
    def answer(_, reply):
        reply.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        for event in EVENTS:
            reply.chunk(event)
            time.sleep(0.05)
        reply.raw(b"0\r\n\r\n")

    url = serve(answer).url
    found = send(url, "/v1/messages?beta=true", b"{}", endpoint="messages")
    assert found.body == b"".join(EVENTS)
    assert found.content_type == "text/event-stream"
    assert found.first_token is not None
    assert found.first_byte + 0.08 <= found.first_token <= found.total - 0.05


def test_an_answer_in_one_piece_has_no_first_token(serve) -> None:
    url = serve(lambda _, reply: reply.body(b'{"id":"1"}', content_type="application/json")).url
    found = send(url, "/v1/messages", b"{}", endpoint="messages")
    assert (found.body, found.first_token) == (b'{"id":"1"}', None)


def test_the_request_goes_out_as_it_is(serve) -> None:
    server = serve(lambda _, reply: reply.body(b"{}"))
    send(f"{server.url}/api/", "/v1/messages?x=1", b'{"a": 1}', endpoint="messages")
    (seen,) = server.received
    assert (seen.method, seen.path) == ("POST", "/api/v1/messages?x=1")
    assert seen.body == b'{"a": 1}'


def test_an_error_of_the_backend_is_told_with_what_it_says(serve) -> None:
    url = serve(lambda _, reply: reply.body(b"no such model", 404)).url
    with pytest.raises(RefusedError, match="HTTP 404: no such model") as told:
        send(url, "/v1/messages?key=secret", b"{}", endpoint="messages")
    assert (told.value.status, told.value.said) == (404, "no such model")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("path", ["/v1/messages?a b", "/v1/\x1b[5m", "/v1/mess\u00e4ges", "/\x7f"])
def test_a_path_that_no_request_may_have_is_named_and_not_the_server(serve, path) -> None:
    server = serve(lambda _, reply: reply.body(b"{}"))
    with pytest.raises(UpstreamError, match="the recorded path holds characters") as told:
        send(server.url, path, b"{}", endpoint="messages")
    assert told.value.where == path
    assert told.value.remedy == "Leave the request out, with --lane or --max-requests."
    assert not server.received


@pytest.mark.parametrize("before", [0, 1, 3])
def test_an_answer_that_goes_on_is_given_up_at_the_deadline(serve, before) -> None:
    stop = threading.Event()

    def answer(_, reply):
        reply.head(200, content_type="text/event-stream", transfer_encoding="chunked")
        for event in EVENTS[:before]:
            reply.chunk(event)
        while not stop.wait(0.05):
            reply.chunk(b": still here\n\n")

    url = serve(answer).url
    begun = time.monotonic()
    with pytest.raises(UnfinishedError, match="not complete after 0") as told:
        send(url, "/v1/messages", b"{}", endpoint="messages", deadline=0.4)
    stop.set()
    assert 0.3 < time.monotonic() - begun < 2
    assert (told.value.first_token is not None) == (before == 3)


def test_a_backend_that_is_not_there_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(UpstreamError, match="no answer"):
        send(f"http://127.0.0.1:{port}", "/v1/messages", b"{}", endpoint="messages")
