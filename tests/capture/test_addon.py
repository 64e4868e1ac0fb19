"""The addon in a running proxy, between a real client and a real server."""

import asyncio
import gzip
import json
import os
import socket
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, IncompleteRead
from typing import Any, cast

import brotli
import pytest
import zstandard
from mitmproxy import http
from mitmproxy.test import tflow, tutils

from cachediag.capture import addon
from cachediag.capture.addon import Capture
from cachediag.capture.exchange import CHUNK_MEMORY, RawExchange
from cachediag.capture.writer import Writer
from cachediag.model import Exchange, Usage

START = (
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"tiny-1",'
    b'"usage":{"input_tokens":12,"cache_read_input_tokens":3,"output_tokens":1}}}\n\n'
)
DELTA = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"A band of silk"}}\n\n'
)
STOP = (
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
    b'"usage":{"output_tokens":9}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
)
BODY = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": "naïve 糸"}]}).encode()


def send(address, body=BODY, path="/v1/messages", method="POST", **headers):
    connection = HTTPConnection("{}:{}".format(*address), timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, {"content-type": "application/json", **named})
    return connection, connection.getresponse()


def exchange_bytes(address, body=BODY, **options) -> tuple[int, bytes]:
    connection, response = send(address, body, **options)
    content = response.read()
    connection.close()
    return response.status, content


def wait_until(condition) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_stream_passes_live_and_is_kept(serve, recorder):
    seen_first = threading.Event()

    def answer(request, reply):
        reply.head(content_type="text/event-stream", transfer_encoding="chunked")
        reply.chunk(START)
        # The rest is only sent once the client has the first event.
        assert seen_first.wait(10)
        reply.chunk(DELTA)
        reply.chunk(STOP)
        reply.raw(b"0\r\n\r\n")

    with recorder(serve(answer).url) as recorded:
        before = time.time()
        connection, response = send(recorded.address, path="/v1/messages?beta=true")
        first = response.read1(len(START))
        time.sleep(0.05)
        released = time.time()
        seen_first.set()
        rest = response.read()
        after = time.time()
        connection.close()

    assert first + rest == START + DELTA + STOP
    exchange = recorded.exchange()
    info = exchange.info
    assert exchange.request == BODY
    assert exchange.response == START + DELTA + STOP
    assert (info.endpoint, info.method, info.path) == ("messages", "POST", "/v1/messages?beta=true")
    assert (info.status, info.model, info.response_model) == (200, "tiny", "tiny-1")
    assert info.usage == Usage(input_tokens=12, cache_read=3, output_tokens=9)
    assert info.error is None
    assert info.notes == ()
    # message_start came before the pause, the first generated text after it.
    assert before <= info.started <= info.first_byte < released
    assert released <= info.first_token <= info.ended <= after
    assert recorded.told == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(BODY, id="json"),
        pytest.param(b'{"model": "tiny", "mess', id="cut off"),
        pytest.param(b"\xff\xfe\x00 not text \xc3\x28", id="not utf-8"),
        pytest.param(b'{"model":"\xff","messages":[]}', id="json not utf-8"),
        pytest.param(b"", id="empty"),
    ],
)
def test_bodies_are_kept_byte_for_byte(serve, recorder, body):
    server = serve(lambda request, reply: reply.body(request.body[::-1], content_type="x/y"))
    with recorder(server.url) as recorded:
        status, content = exchange_bytes(recorded.address, body)
    assert (status, content) == (200, body[::-1])
    assert server.bodies == [body]
    assert recorded.exchange().request == body
    assert recorded.exchange().response == body[::-1]


def test_a_body_of_32_mb_passes_and_is_kept(serve, recorder):
    body = b'{"model":"tiny","x":"' + os.urandom(16 << 20).hex().encode() + b'"}'
    server = serve(lambda request, reply: reply.body(request.body))
    with recorder(server.url) as recorded:
        status, content = exchange_bytes(recorded.address, body)
    assert status == 200
    assert content == body
    assert server.bodies == [body]
    exchange = recorded.exchange()
    assert exchange.request == exchange.response == body
    assert exchange.info.model == "tiny"


def test_a_chunked_request_stays_chunked(serve, recorder):
    server = serve(lambda request, reply: reply.body(b"{}"))
    with recorder(server.url) as recorded:
        pieces = [BODY[:10], BODY[10:]]
        connection = HTTPConnection(*recorded.address)
        connection.request("POST", "/v1/messages", iter(pieces), encode_chunked=True)
        assert connection.getresponse().read() == b"{}"
        connection.close()
    assert server.received[0].headers["transfer-encoding"] == "chunked"
    assert server.bodies == [BODY]
    assert recorded.exchange().request == BODY


def deflate_without_wrapper(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", deflate_without_wrapper),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
    ],
)
def test_encodings_are_undone_in_the_record_only(serve, recorder, encoding, encode):
    sent, answered = encode(BODY), encode(START + DELTA + STOP)
    server = serve(lambda request, reply: reply.stream(*cut(answered), content_encoding=encoding))
    with recorder(server.url) as recorded:
        _, content = exchange_bytes(recorded.address, sent, content_encoding=encoding)
    assert server.bodies == [sent]
    assert content == answered
    exchange = recorded.exchange()
    assert exchange.request == BODY
    assert exchange.response == START + DELTA + STOP
    assert exchange.info.first_token is not None
    assert exchange.info.notes == (
        f"request: content-encoding {encoding} undone",
        f"response: content-encoding {encoding} undone",
    )


def cut(data: bytes, size: int = 7) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def test_what_is_not_encoded_as_it_says_is_kept_as_sent(serve, recorder):
    server = serve(lambda request, reply: reply.body(b"plain", content_encoding="br"))
    with recorder(server.url) as recorded:
        _, content = exchange_bytes(recorded.address, b"plain too", content_encoding="gzip")
    assert content == b"plain"
    assert server.bodies == [b"plain too"]
    exchange = recorded.exchange()
    assert (exchange.request, exchange.response) == (b"plain too", b"plain")
    assert exchange.info.notes[0].startswith("request: kept as sent, not gzip: ")
    assert exchange.info.notes[1] == "response: kept as sent, 5 bytes that br makes nothing of"


def test_a_client_that_goes_away_leaves_what_it_got(serve, recorder):
    gone = threading.Event()

    def answer(request, reply):
        reply.head(content_type="text/event-stream", transfer_encoding="chunked")
        reply.chunk(START)
        reply.chunk(DELTA)
        gone.wait(10)
        reply.raw(b"0\r\n\r\n")

    with recorder(serve(answer).url) as recorded:
        connection, response = send(recorded.address)
        # Both have come through: what reaches the proxy after the client has gone is not kept.
        assert response.read(len(START + DELTA)) == START + DELTA
        response.close()
        connection.close()
        wait_until(lambda: recorded.capture.in_flight == 0)
        gone.set()
        # The next client is served as ever.
        assert exchange_bytes(recorded.address, path="/v1/messages?beta=true")[0] == 200

    first = recorded.exchanges()[0]
    assert first.request == BODY
    assert first.response == START + DELTA
    assert first.info.status == 200
    assert first.info.error == "Client disconnected."
    assert first.info.usage == Usage(input_tokens=12, cache_read=3, output_tokens=1)


def test_a_client_that_goes_away_before_its_request_is_whole(serve, recorder):
    server = serve(lambda request, reply: reply.body(b"{}"))
    with recorder(server.url) as recorded:
        with socket.create_connection(recorded.address) as client:
            client.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
            wait_until(lambda: recorded.capture.in_flight == 1)
        wait_until(lambda: recorded.capture.in_flight == 0)
    assert server.received == []
    exchange = recorded.exchange()
    assert (exchange.request, exchange.info.status) == (b"", None)
    assert exchange.info.error


def test_an_upstream_that_is_down_is_answered_with_502(recorder):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with recorder(f"http://127.0.0.1:{port}") as recorded:
        assert exchange_bytes(recorded.address)[0] == 502
    exchange = recorded.exchange()
    assert exchange.request == BODY
    assert exchange.response == b""
    assert exchange.info.status is None
    assert "Connect call failed" in exchange.info.error


def test_an_upstream_that_breaks_off_leaves_what_it_sent(serve, recorder):
    def answer(request, reply):
        reply.head(content_type="text/event-stream", transfer_encoding="chunked")
        reply.chunk(START)
        reply.chunk(DELTA)
        reply.hang_up()

    with recorder(serve(answer).url) as recorded:
        connection, response = send(recorded.address)
        with pytest.raises(IncompleteRead) as broken_off:
            response.read()
        connection.close()
    assert broken_off.value.partial == START + DELTA
    exchange = recorded.exchange()
    assert exchange.response == START + DELTA
    assert exchange.info.status == 200
    assert exchange.info.error


def test_an_upstream_that_says_nothing_at_all(serve, recorder):
    with recorder(serve(lambda request, reply: reply.hang_up()).url) as recorded:
        assert exchange_bytes(recorded.address)[0] == 502
    assert recorded.exchange().info.error == "server closed connection"


def test_an_answer_that_is_lax_about_http_passes(serve, recorder):
    def answer(request, reply):
        reply.head(content_length="5", transfer_encoding="chunked")
        reply.chunk(b"hello")
        reply.raw(b"0\r\n\r\n")

    with recorder(serve(answer).url) as recorded:
        assert exchange_bytes(recorded.address) == (200, b"hello")
    assert recorded.exchange().response == b"hello"


def test_sixteen_clients_at_once_are_not_mixed_up(serve, recorder):
    together = threading.Barrier(16)

    def answer(request, reply):
        if request.headers["x-round"] == "0":
            together.wait(10)
        number = json.loads(request.body)["n"]
        text = json.dumps({"type": "content_block_delta", "delta": {"text": f"answer {number}"}})
        line = f"data: {text}\n\n".encode()
        reply.stream(*cut(line, 5), request_id=f"id-{number}")

    def talk(client: int) -> None:
        connection = HTTPConnection("{}:{}".format(*recorded.address), timeout=20)
        for turn in range(5):
            number = client * 5 + turn
            body = json.dumps({"model": f"m-{number}", "n": number}).encode()
            connection.request("POST", "/v1/messages", body, {"x-round": str(turn)})
            assert f'answer {number}"'.encode() in connection.getresponse().read()
        connection.close()

    with recorder(serve(answer).url) as recorded, ThreadPoolExecutor(16) as pool:
        list(pool.map(talk, range(16)))

    exchanges = recorded.exchanges()
    assert sorted(json.loads(each.request)["n"] for each in exchanges) == list(range(80))
    for each in exchanges:
        number = json.loads(each.request)["n"]
        assert f'answer {number}"'.encode() in each.response
        assert each.info.model == f"m-{number}"
        assert each.info.response_headers["request-id"] == f"id-{number}"


def test_other_requests_are_noted_without_their_bodies(serve, recorder):
    def answer(request, reply):
        reply.body(b'{"input_tokens":5}', content_type="application/json")

    with recorder(serve(answer).url) as recorded:
        for path in ("/v1/messages/count_tokens", "/api/event_logging/batch"):
            assert exchange_bytes(recorded.address, path=path) == (200, b'{"input_tokens":5}')
        assert (
            exchange_bytes(recorded.address, None, path="/v1/responses/r1", method="GET")[0] == 200
        )
        assert exchange_bytes(recorded.address, None, path="/", method="HEAD") == (200, b"")
    kinds = [(e.info.endpoint, e.info.method, e.request, e.response) for e in recorded.exchanges()]
    assert kinds == [
        ("count_tokens", "POST", BODY, b'{"input_tokens":5}'),
        ("other", "POST", b"", b""),
        ("other", "GET", b"", b""),
        ("other", "HEAD", b"", b""),
    ]


def test_what_is_in_flight_at_the_end_is_kept_as_far_as_it_got(serve, recorder):
    over = threading.Event()

    def answer(request, reply):
        reply.head(content_type="text/event-stream", transfer_encoding="chunked")
        reply.chunk(START)
        over.wait(10)

    with recorder(serve(answer).url, settle=0) as recorded:
        connection, response = send(recorded.address)
        assert response.read1(10)
    over.set()
    connection.close()
    exchange = recorded.exchange()
    assert exchange.response == START
    assert exchange.info.error == "the recording ended before the response did"


class Rewrites:
    """What a stripping addon does: change the request, after the recorder has seen it."""

    def request(self, flow: http.HTTPFlow) -> None:
        flow.request.headers.pop("content-encoding", None)
        flow.request.content = b'{"rewritten":true}'


def test_the_body_is_kept_as_the_client_sent_it(serve, recorder):
    server = serve(lambda request, reply: reply.body(b"{}"))
    with recorder(server.url, addons=[Rewrites()]) as recorded:
        exchange_bytes(recorded.address, gzip.compress(BODY), content_encoding="gzip")
    assert server.bodies == [b'{"rewritten":true}']
    exchange = recorded.exchange()
    assert (exchange.request, exchange.outgoing) == (BODY, b'{"rewritten":true}')
    assert exchange.info.notes == ("request: content-encoding gzip undone",)


@pytest.fixture
def stored() -> list[Exchange]:
    return []


@pytest.fixture
def guest(stored):
    class Store:
        def append(self, exchange: Exchange) -> int:
            stored.append(exchange)
            return len(stored) - 1

        def close(self) -> None:
            pass

    capture = Capture(Writer(Store, tell=pytest.fail), guest=True)
    capture.running()
    yield capture
    capture.done()


def model_call(path="/v1/messages") -> Any:
    flow: Any = tflow.tflow(resp=True)
    flow.request.method, flow.request.path = "POST", path
    flow.response.raw_content = None
    return flow


def test_a_guest_leaves_other_responses_as_they_are(guest):
    flow = model_call("/somewhere")
    guest.requestheaders(flow)
    guest.responseheaders(flow)
    assert flow.response.stream is False


def test_a_guest_puts_the_body_where_other_addons_look_for_it(guest, stored):
    flow = model_call()
    # Another addon streams too, and changes what passes.
    flow.response.stream = bytes.upper
    guest.requestheaders(flow)
    guest.request(flow)
    guest.responseheaders(flow)
    assert [flow.response.stream(data) for data in (b"ab", b"cd", b"")] == [b"AB", b"CD", b""]
    guest.response(flow)
    guest.done()
    assert flow.response.raw_content == b"abcd"
    assert [exchange.response for exchange in stored] == [b"abcd"]


def test_the_writer_wakes_when_the_end_of_the_response_has_been_sent(guest, monkeypatch):
    handed_over: list[object] = []
    monkeypatch.setattr(guest._writer, "put", handed_over.append)

    async def pass_one() -> None:
        flow = model_call()
        guest.requestheaders(flow)
        guest.request(flow)
        guest.responseheaders(flow)
        guest.response(flow)
        # mitmproxy sends the end in the same step; the next one is free.
        assert handed_over == []
        await asyncio.sleep(0)
        assert len(handed_over) == 1

    asyncio.run(pass_one())


def test_what_has_ended_is_handed_over_though_the_loop_ends(guest, stored):
    async def pass_one() -> None:
        flow = model_call()
        guest.requestheaders(flow)
        guest.response(flow)
        guest.done()

    asyncio.run(pass_one())
    assert len(stored) == 1


class Ended:
    """Takes the exchanges of a `Capture` whose hooks are called by hand."""

    def __init__(self) -> None:
        self.raws: list[RawExchange] = []

    def put(self, raw: RawExchange) -> None:
        self.raws.append(raw)

    def close(self) -> int:
        return 0


def begun(capture: Capture, content: bytes = BODY) -> http.HTTPFlow:
    request = tutils.treq(method=b"POST", path=b"/v1/messages", content=content)
    flow = tflow.tflow(req=request, resp=tutils.tresp(content=None))
    capture.requestheaders(flow)
    capture.request(flow)
    capture.responseheaders(flow)
    return flow


def passed(flow: http.HTTPFlow, *chunks: bytes) -> None:
    assert flow.response is not None
    assert callable(flow.response.stream)
    assert [flow.response.stream(chunk) for chunk in chunks] == list(chunks)


def test_of_a_long_body_the_first_bytes_are_kept_and_all_pass(monkeypatch):
    monkeypatch.setattr(addon, "MAX_BODY", 10)
    capture = Capture(cast("Writer", ended := Ended()))
    flow = begun(capture, content=b"0123456789x")
    passed(flow, b"abcdef", b"ghijkl", b"m")
    capture.response(flow)
    whole = begun(capture, content=b"0123456789")
    passed(whole, b"abcdef", b"ghij", b"")
    capture.response(whole)
    capture.done()
    cut, kept = ended.raws
    assert (cut.body, cut.outgoing) == (b"0123456789", None)
    assert [data for _, data in cut.chunks] == [b"abcdef", b"ghij"]
    assert cut.notes == (
        "request: only the first 10 bytes were kept",
        "response: only the first 10 bytes were kept",
    )
    assert (kept.body, kept.outgoing) == (b"0123456789", None)
    assert [data for _, data in kept.chunks] == [b"abcdef", b"ghij"]
    assert kept.notes == ()


def test_answers_under_way_have_a_bound_together_and_all_pass(monkeypatch):
    monkeypatch.setattr(addon, "MAX_IN_FLIGHT", 2 * CHUNK_MEMORY + 20)
    capture = Capture(cast("Writer", ended := Ended()))
    one, two = begun(capture), begun(capture)
    passed(one, b"a" * 15)
    passed(two, b"b" * 10)
    capture.response(one)
    # There is room again, but a gap would make it another text.
    passed(two, b"c" * 10)
    capture.response(two)
    passed(three := begun(capture), b"d" * 20)
    capture.response(three)
    capture.done()
    assert [b"".join(data for _, data in raw.chunks) for raw in ended.raws] == [
        b"a" * 15,
        b"b" * 5,
        b"d" * 20,
    ]
    assert [raw.notes for raw in ended.raws] == [
        (),
        ("response: only the first 5 bytes were kept, others under way took the memory",),
        (),
    ]


def test_a_body_that_was_not_kept_whole_is_not_put_where_other_addons_look(monkeypatch):
    monkeypatch.setattr(addon, "MAX_BODY", 5)
    capture = Capture(cast("Writer", Ended()), guest=True)
    for chunk, content in ((b"abcde", b"abcde"), (b"abcdef", None)):
        flow = begun(capture)
        passed(flow, chunk)
        capture.response(flow)
        assert flow.response is not None
        assert flow.response.raw_content == content
    capture.done()
