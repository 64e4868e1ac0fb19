"""Servers that answer wrongly, without end, or a byte at a time: given up, and not believed."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.backends.asking import Response, get
from cachediag.backends.kinds import PROBES, Reading, Recognised
from cachediag.backends.metrics import read_metrics, risen
from cachediag.backends.recognise import from_responses
from cachediag.errors import UpstreamError
from cachediag.model import Endpoint
from cachediag.verify import clearing
from cachediag.verify import send as sending
from cachediag.verify.send import UnfinishedError, send
from tests.hostile.strategies import Json

ENDPOINTS: tuple[Endpoint, ...] = ("messages", "chat", "responses")
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
Say = Callable[[socket.socket], None]


@contextmanager
def server(say: Say) -> Iterator[str]:
    """A server that says the same to whoever connects, whatever is asked; gives its address."""

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            say(connection)
            # Closing with something unread would reset the connection.
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    def accept() -> None:
        with suppress(OSError):
            while True:
                Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def dripping(before: bytes, drop: bytes, pause: float = 0.05) -> Say:
    def say(connection: socket.socket) -> None:
        connection.sendall(before)
        while True:
            connection.sendall(drop)
            time.sleep(pause)

    return say


def flooding(before: bytes, drop: bytes) -> Say:
    return dripping(before, drop * (65536 // len(drop)), pause=0)


SLOW = {
    "status": dripping(b"", b"H"),
    "headers": dripping(b"HTTP/1.1 200 OK\r\n", b"x"),
    "interim": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"["),
    "sized": dripping(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", b"["),
    "chunks": dripping(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\n[\r\n"),
}


@pytest.mark.parametrize("say", SLOW.values(), ids=SLOW)
def test_a_question_ends_in_time(say):
    with server(say) as url:
        started = time.monotonic()
        assert get(url, "/v1/models", timeout=0.3) is None
        assert time.monotonic() - started < 2


@pytest.mark.parametrize("say", SLOW.values(), ids=SLOW)
def test_a_request_ends_in_time(say):
    with server(say) as url:
        started = time.monotonic()
        with pytest.raises(UnfinishedError, match=r"not complete after 0\.3"):
            send(url, "/v1/messages", b"{}", endpoint="messages", timeout=9, deadline=0.3)
        assert time.monotonic() - started < 2


def test_interim_answers_without_end_are_given_up():
    with server(flooding(b"", b"HTTP/1.1 100 Continue\r\n\r\n")) as url:
        assert get(url, "/health", timeout=0.3) is None


def test_an_emptying_ends_in_time(monkeypatch):
    monkeypatch.setattr(clearing, "_TIMEOUT", 0.3)
    for say in (SLOW["headers"], SLOW["sized"], flooding(b"HTTP/1.1 200 OK\r\n\r\n", b"[")):
        with server(say) as url:
            assert clearing.cleared(url) is False


def test_a_question_reads_no_more_than_it_needs():
    with server(flooding(b"HTTP/1.1 200 OK\r\n\r\n", b"[")) as url:
        answer = get(url, "/openapi.json", timeout=10)
        assert answer is not None
        assert len(answer.body) == 4 << 20
        assert answer.json is None


def test_an_answer_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(sending, "_MOST_BYTES", 3 << 20)
    for before in (STREAM, b"HTTP/1.1 200 OK\r\n\r\n"):
        with (
            server(flooding(before, b"data: x")) as url,
            pytest.raises(UpstreamError, match="longer than 3 MiB"),
        ):
            send(url, "/v1/messages", b"{}", endpoint="messages", timeout=10)


def test_the_first_token_shows_whatever_ends_a_line():
    event = b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}'
    for end in (b"\n\n", b"\r\n\r\n"):

        def say(connection: socket.socket, end: bytes = end) -> None:
            connection.sendall(STREAM + event[:30])
            time.sleep(0.05)
            connection.sendall(event[30:] + end)

        with server(say) as url:
            answer = send(url, "/v1/messages", b"{}", endpoint="messages", timeout=5)
        assert answer.first_token is not None
        assert answer.body == event + end


def sane(reading: Reading | None) -> None:
    for count in (reading.cached, reading.prefilled) if reading else ():
        assert count is None or (type(count) is int and count >= 0)


_PATHS = ("/v1/models", "/health", *dict.fromkeys(p for k in PROBES.values() for p in k.paths))
_DOCUMENTS = st.builds(lambda value: json.dumps(value).encode(), Json) | st.binary(max_size=40)
_LISTED = st.builds(
    lambda owner, more: json.dumps({"data": [{"id": 1, "owned_by": owner}, more]}).encode(),
    st.sampled_from(sorted(PROBES)) | Json,
    Json,
)
_API = st.builds(
    lambda version, paths, parts: json.dumps(
        {
            "info": {"title": "vllm-mlx API", "version": version},
            "paths": paths,
            "components": {"schemas": parts},
        }
    ).encode(),
    *(Json, Json, Json),
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(_PATHS), _DOCUMENTS | _LISTED | _API))
def test_any_documents_name_a_kind_or_none(documents):
    found = from_responses({path: Response(200, {}, raw) for path, raw in documents.items()})
    assert found is None or found.kind in PROBES


_COUNTS = Json | st.integers() | st.just(True) | st.just(10**5000)
_USAGE = st.builds(
    lambda a, b, c: {
        "usage": {
            "input_tokens": a,
            "prompt_tokens": a,
            "cache_read_input_tokens": b,
            "cache_creation_input_tokens": c,
            "prompt_tokens_details": {"cached_tokens": b},
        },
        "timings": {"cache_n": a, "prompt_n": b},
        "mtplx_stats": {"cached_tokens": a, "new_prefill_tokens": b},
        "prompt_eval_cached_count": a,
        "prompt_eval_count": b,
    },
    *(_COUNTS, _COUNTS, _COUNTS),
)


def spelled(value: object) -> bytes:
    """JSON with integers that Python itself would not write."""

    def huge(value: object) -> object:
        if isinstance(value, dict):
            return {key: huge(inner) for key, inner in value.items()}
        return "huge" if value == 10**5000 else value

    return json.dumps(huge(value)).replace('"huge"', "1" + "0" * 5000).encode()


_USAGES = _USAGE.map(spelled)


@settings(max_examples=100, deadline=None)
@given(_USAGES, st.sampled_from(ENDPOINTS))
def test_no_usage_is_believed_that_counts_nothing(body, endpoint):
    for probe in PROBES.values():
        backend = Recognised(kind=probe.name, sure="exact", evidence="")
        sane(probe.read_usage(backend, endpoint, "application/json", body))


@settings(max_examples=100, deadline=None)
@given(st.tuples(_COUNTS, _COUNTS, _COUNTS, _COUNTS))
def test_no_counters_are_believed_that_count_nothing(counts):
    def stats(hits: object, misses: object) -> Response:
        counters = {"hits": hits, "misses": misses}
        return Response(
            200, {}, spelled({"engine_cache": {"system_kv_cache": {"counters": counters}}})
        )

    for probe in PROBES.values():
        sane(probe.read_counters(stats(*counts[:2]), stats(*counts[2:])))


def test_numbers_that_are_none_are_no_metrics():
    text = "a 1-2\nb 7.0-\nc 1e999\nd NaN\ne +Inf\nf 1.5.2\ng 0x10\nh 12\n"
    text += 'h{x="}"} 3e0\r\ni 1e5e5\n'
    values = read_metrics(text)
    assert values.keys() == {"c", "d", "e", "h"}
    assert values["h"] == 15
    assert [risen({}, values, name) for name in "cdeh"] == [None, None, None, 15]
    assert risen({"e": float("inf")}, values, "e") is None


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='ab_:{}"=,0123456789.eE+-NaInf \t\r\n\\', max_size=80))
def test_any_metrics_are_read(text):
    for probe in PROBES.values():
        sane(probe.read_counters(Response(200, {}, b""), Response(200, {}, text.encode())))


def test_a_log_of_any_length_is_read():
    nines = "9" * 5_000
    lines = (
        # Read to the end from each place, it takes minutes.
        "System KV cache HIT " * 200_000,
        f"System KV cache HIT: reusing {nines} tokens, prefilling {nines} new",
        f"System KV cache MISS: will prefill {nines} system + 1 suffix",
        f"Cache hit: {nines} reused, {nines} new",
        f"Cache miss: full prefill of {nines} tokens",
    )
    for probe in PROBES.values():
        assert [probe.read_log(line) for line in lines] == [None] * len(lines)


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"prompt_eval_cached_count":[', '{"usage":['])
def test_nesting_in_an_answer_is_no_document(opening):
    body = opening.encode() * 100_000
    assert Response(200, {}, body).json is None
    for probe in PROBES.values():
        backend = Recognised(kind=probe.name, sure="exact", evidence="")
        for endpoint in ENDPOINTS:
            assert probe.read_usage(backend, endpoint, None, body) is None
