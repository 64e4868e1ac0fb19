"""The addon that strips, in a proxy between a client and a server of this process."""

import gc
import gzip
import json
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard
from mitmproxy.test import tflow

from cachediag.capture.addon import Capture
from cachediag.capture.proxy import Reverse, running_proxy
from cachediag.capture.writer import Writer
from cachediag.fix import strip
from cachediag.fix.strip import Strip
from cachediag.fix.tally import RuleCount, Tally
from cachediag.rules.rule import Rule, RuleSet
from cachediag.session import Session

from .material import DROP, RULES, body, header

BLOCK = len(json.dumps(header(0)))


@dataclass
class Stripped:
    """A proxy that strips, and what it told and counted."""

    address: str
    tally: Tally
    told: list[str] = field(default_factory=list)

    def post(self, sent: bytes, path: str = "/v1/messages", **headers: str) -> bytes:
        connection = HTTPConnection(self.address, timeout=20)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, sent, named)
        content = connection.getresponse().read()
        connection.close()
        return content


@pytest.fixture(scope="module")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data") / "mitmproxy"


@pytest.fixture
def stripping(confdir) -> Callable[..., AbstractContextManager[Stripped]]:
    @contextmanager
    def run(url: str, rules: RuleSet = RULES, before: tuple = ()) -> Iterator[Stripped]:
        told: list[str] = []
        tally = Tally(rules.enabled)
        addon = Strip(lambda: rules, tell=told.append, tally=tally)
        with running_proxy(
            Reverse((url,)),
            addons=[*before, addon],
            confdir=confdir,
            environ={},
            warn=told.append,
        ) as proxy:
            yield Stripped(proxy.base_url.removeprefix("http://"), tally, told)

    return run


@pytest.fixture
def upstream(serve):
    return serve(lambda request, reply: reply.body(b"answer to " + request.body))


def test_what_the_rules_name_is_gone_and_all_else_is_as_it_came(stripping, upstream):
    with stripping(upstream.url) as proxy:
        answers = [proxy.post(body(number)) for number in range(3)]
    expected = [body(number, stripped=True) for number in range(3)]
    assert upstream.bodies == expected
    assert answers == [b"answer to " + each for each in expected]
    lengths = [request.headers["content-length"] for request in upstream.received]
    assert lengths == [str(len(each)) for each in expected]
    assert (proxy.tally.requests, proxy.tally.changed) == (3, 3)
    assert proxy.tally.rules == (
        RuleCount("strip-billing-header", 3, 3 * BLOCK),
        RuleCount("sort-tools", 0, 0),
    )
    assert proxy.told == []


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(header(7)["text"], id="a user quotes a header"),
        pytest.param(f"x\n{header(7)['text']}\ny", id="among other lines"),
    ],
)
def test_a_request_that_no_rule_is_about_goes_on_byte_for_byte(stripping, upstream, said):
    sent = [
        body(1, stripped=True, said=said).replace(b'"n"', b'"\\u006e"'),
        body(2, stripped=True).replace(b'"Dust the clocks."', tool_result(said)),
        b'{ "messages":[ ]\n}',
    ]
    with stripping(upstream.url) as proxy:
        for each in sent:
            proxy.post(each)
    assert upstream.bodies == sent
    assert (proxy.tally.requests, proxy.tally.changed) == (3, 0)


def tool_result(said: str) -> bytes:
    return json.dumps([{"type": "tool_result", "tool_use_id": "t1", "content": said}]).encode()


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("identity", bytes),
    ],
)
def test_an_encoded_body_goes_on_plain_where_it_is_changed(stripping, upstream, encoding, encode):
    same = encode(body(1, stripped=True))
    with stripping(upstream.url) as proxy:
        proxy.post(encode(body(0)), content_encoding=encoding)
        proxy.post(same, content_encoding=encoding)
    changed, unchanged = upstream.received
    assert changed.body == body(0, stripped=True)
    assert "content-encoding" not in changed.headers
    assert changed.headers["content-length"] == str(len(changed.body))
    assert unchanged.body == same
    assert unchanged.headers["content-encoding"] == encoding


def test_a_chunked_request_stays_chunked(stripping, upstream):
    with stripping(upstream.url) as proxy:
        connection = HTTPConnection(proxy.address, timeout=20)
        pieces = iter([body(0)[:50], body(0)[50:]])
        connection.request("POST", "/v1/messages", pieces, encode_chunked=True)
        connection.getresponse().read()
        connection.close()
    (received,) = upstream.received
    assert received.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in received.headers
    assert received.body == body(0, stripped=True)


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("/v1/messages?beta=true", True),
        ("/api/v1/messages/count_tokens", True),
        ("/v1/chat/completions", False),
        ("/v1/responses", False),
        ("/v1/messages/batches", False),
        ("/v1/files", False),
    ],
)
def test_a_rule_is_for_requests_of_its_protocol(stripping, upstream, path, changed):
    with stripping(upstream.url) as proxy:
        proxy.post(body(0), path)
    assert upstream.bodies == [body(0, stripped=changed)]


def test_the_conversation_s_first_value_is_kept_over_the_run(stripping, upstream):
    pin = Rule(
        id="pin-number",
        finding="V03",
        action="pin",
        protocol="messages",
        path="system[0].text",
        pattern=r"\Ax-anthropic-billing-header: [ -~]{1,100}; cch=([0-9a-f]{5});",
    )
    with stripping(upstream.url, RuleSet((pin,))) as proxy:
        for number in (0x11, 0x22, 0x33):
            proxy.post(body(number))
        proxy.post(body(0x44, said="Oil the clocks."))
    systems = [json.loads(each)["system"][0] for each in upstream.bodies]
    assert systems == [header(0x11)] * 3 + [header(0x44)]


def test_a_stream_passes_live(stripping, serve):
    seen = threading.Event()

    def answer(request, reply):
        reply.head(content_type="text/event-stream", transfer_encoding="chunked")
        reply.chunk(b"data: first\n\n")
        # The rest is only sent once the client has the first event.
        assert seen.wait(10)
        reply.chunk(b"data: second\n\n")
        reply.raw(b"0\r\n\r\n")

    with stripping(serve(answer).url) as proxy:
        connection = HTTPConnection(proxy.address, timeout=20)
        connection.request("POST", "/v1/messages", body(0))
        response = connection.getresponse()
        assert response.read1(100) == b"data: first\n\n"
        seen.set()
        assert response.read() == b"data: second\n\n"
        connection.close()


def test_what_cannot_be_read_goes_on_as_it_came_and_is_told_once(stripping, upstream):
    sent = [b'{"model": "tiny", "system": [', b"\xff\xfe\x00 no text", b"[" * 9, b""]
    with stripping(upstream.url) as proxy:
        for each in sent:
            proxy.post(each)
        proxy.post(b"plain", content_encoding="gzip")
        proxy.post(b"plain", content_encoding="rot13")
        proxy.post(body(0))
    assert upstream.bodies == [*sent, b"plain", b"plain", body(0, stripped=True)]
    assert len(proxy.told) == 2
    assert proxy.told[0].startswith("a request cannot be read: JSON ends too early")
    assert proxy.told[1].startswith("a request cannot be read: not gzip: ")
    assert all(each.endswith("; such requests go on as they came") for each in proxy.told)
    assert proxy.tally.changed == 1


def test_whatever_goes_wrong_the_request_goes_on(stripping, upstream, monkeypatch):
    def broken(sent: bytes, *_: object) -> Any:
        raise ZeroDivisionError(sent.decode())

    monkeypatch.setattr(strip, "apply_rules", broken)
    with stripping(upstream.url) as proxy:
        assert proxy.post(body(0)) == b"answer to " + body(0)
        proxy.post(body(1))
    assert upstream.bodies == [body(0), body(1)]
    # What the request says is not repeated.
    assert proxy.told == [
        "rules could not be applied (ZeroDivisionError); such requests go on as they came"
    ]


def test_a_recorder_before_it_keeps_both_sides(stripping, upstream, tmp_path):
    path = tmp_path / "both.cachediag"
    capture = Capture(Writer(lambda: Session.create(path), tell=pytest.fail))
    with stripping(upstream.url, before=(capture,)) as proxy:
        proxy.post(gzip.compress(body(0)), content_encoding="gzip")
        proxy.post(body(1, stripped=True))
    with Session.open(path) as session:
        kept = [(each.request, each.outgoing) for each in session.exchanges()]
    assert kept == [
        (body(0), body(0, stripped=True)),
        (body(1, stripped=True), None),
    ]
    assert [kept[0][1], kept[1][0]] == upstream.bodies


def model_call(path: str) -> Any:
    flow: Any = tflow.tflow(resp=True)
    flow.request.method, flow.request.path = "POST", path
    return flow


def guest() -> Strip:
    return Strip(lambda: RULES, tell=pytest.fail, tally=Tally(), guest=True)


def test_a_guest_leaves_other_responses_as_they_are():
    other, ours, streamed = (model_call(p) for p in ("/x", "/v1/messages", "/v1/messages"))
    streamed.response.stream = bytes.upper
    for flow in (other, ours, streamed):
        guest().responseheaders(flow)
    assert [flow.response.stream for flow in (other, ours, streamed)] == [False, True, bytes.upper]


def test_a_request_that_is_streamed_past_is_left_alone():
    flow = model_call("/v1/messages")
    flow.request.raw_content = None
    guest().request(flow)
    assert flow.request.raw_content is None


CLIENTS, EACH = 16, 32
"""Each client sends so many requests in each half."""


def test_a_thousand_requests_from_sixteen_clients(stripping, serve):
    """None is lost, none is mixed up, and nothing of them stays in memory."""
    bodies: list[int] = []

    def answer(request, reply):
        number = json.loads(request.body)["n"]
        bodies.append(number)
        server.received.clear()
        reply.body(request.body, request_number=str(number))

    def talk(first: int) -> list[int]:
        connection = HTTPConnection(proxy.address, timeout=60)
        wrong = []
        for number in range(first, first + EACH):
            said = f"clock {number} " * 500
            connection.request("POST", "/v1/messages", body(number, said=said))
            response = connection.getresponse()
            expected = (body(number, stripped=True, said=said), str(number))
            if (response.read(), response.getheader("request-number")) != expected:
                wrong.append(number)
        connection.close()
        return wrong

    server = serve(answer)
    half = CLIENTS * EACH
    with (
        stripping(server.url, RuleSet((DROP,))) as proxy,
        ThreadPoolExecutor(CLIENTS) as pool,
        traced(),
    ):
        held = []
        for start in (0, half):
            assert list(pool.map(talk, range(start, start + half, EACH))) == [[]] * CLIENTS
            held.append(held_memory())
    assert sorted(bodies) == list(range(2 * half))
    assert proxy.tally.requests == proxy.tally.changed == 2 * half
    assert proxy.told == []
    # The bodies of the second half come to 3 MB.
    assert held[1] - held[0] < 200_000


@contextmanager
def traced() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def held_memory() -> int:
    """Bytes that the proxy's code has allocated and that are still there."""
    gc.collect()
    places = [tracemalloc.Filter(True, f"*/{name}/*") for name in ("cachediag", "mitmproxy")]
    return sum(
        each.size for each in tracemalloc.take_snapshot().filter_traces(places).statistics("lineno")
    )
