"""An upstream that fails in every way: what the client sees, and what is recorded."""

import asyncio
import socket

import pytest

from cachediag.model import Exchange
from tests.conftest import Received
from tests.faults.net import PATIENCE, Net, Reply, ask, connected, head, heard, talk
from tests.faults.recorder import Recorder, recording

EVENT = b'data: {"type":"content_block_delta","delta":{"text":"silk"}}\n\n'
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
CUT = "peer closed connection without sending complete message body"


def request_of(name: str) -> bytes:
    return b'{"model":"%s"}' % name.encode()


SEEN = bytearray()
"""What the client of the test has got so far."""


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


async def seen(data: bytes) -> None:
    """Wait until the client has got something: a reset may overtake what was sent before."""
    async with asyncio.timeout(PATIENCE):
        while data not in SEEN:
            await asyncio.sleep(0.005)


async def began(reply: Reply) -> None:
    """Send a stream's head and an event."""
    await reply.events()
    await reply.chunk(EVENT)
    await seen(EVENT)


async def reset_at_once(_: Received, reply: Reply) -> None:
    reply.reset()


async def closed_at_once(_: Received, reply: Reply) -> None:
    reply.writer.close()


async def half_a_head(_: Received, reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\ncontent-ty")
    reply.writer.close()


async def no_http(_: Received, reply: Reply) -> None:
    await reply.raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reset_at_once, "server closed connection"),
        (closed_at_once, "server closed connection"),
        (half_a_head, "unexpected server response: b'HTTP/1.1 200 OK\\r\\ncontent-ty'"),
        (no_http, "Cannot parse HTTP response: Bad HTTP response line: b'SSH-2.0-OpenSSH_9.6'"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_where_no_answer_begins_the_client_gets_502(net: Net, recorder: Recorder, answer, error):
    net.answer = answer
    request = request_of(answer.__name__)
    got = net.run(ask(recorder.url, request))
    assert got.status == 502
    exchange = recorder.the_one(request)
    assert (exchange.info.status, exchange.response) == (None, b"")
    assert exchange.info.error == error


async def reset_after_the_head(_: Received, reply: Reply) -> None:
    await reply.events()
    await seen(STREAM)
    reply.reset()


async def reset_in_mid_stream(_: Received, reply: Reply) -> None:
    await began(reply)
    reply.reset()


async def closed_in_mid_chunk(_: Received, reply: Reply) -> None:
    await began(reply)
    await reply.raw(b"ffff\r\nhalf")
    await seen(b"half")
    reply.writer.close()


async def garbage_for_a_chunk(_: Received, reply: Reply) -> None:
    await began(reply)
    await reply.raw(b"zz\r\nhey\r\n")


async def half_closed(_: Received, reply: Reply) -> None:
    await began(reply)
    reply.writer.write_eof()
    await reply.reader.read()


async def too_short(_: Received, reply: Reply) -> None:
    await reply.head(content_length=100)
    await reply.raw(b"partial")
    await seen(b"partial")
    reply.writer.close()


async def reset_without_length(_: Received, reply: Reply) -> None:
    await reply.head()
    await reply.raw(b"partial")
    await seen(b"partial")
    reply.reset()


BROKEN_OFF = [
    (
        reset_without_length,
        b"HTTP/1.1 200 OK\r\n\r\npartial",
        b"partial",
        "peer reset the connection",
    ),
    (reset_after_the_head, STREAM, b"", f"{CUT} (incomplete chunked read)"),
    (reset_in_mid_stream, STREAM + CHUNK, EVENT, f"{CUT} (incomplete chunked read)"),
    (closed_in_mid_chunk, STREAM + CHUNK + b"4\r\nhalf\r\n", EVENT + b"half", CUT),
    (garbage_for_a_chunk, STREAM + CHUNK, EVENT, "illegal chunk header"),
    (half_closed, STREAM + CHUNK, EVENT, f"{CUT} (incomplete chunked read)"),
    (
        too_short,
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npartial",
        b"partial",
        f"{CUT} (received 7 bytes, expected 100)",
    ),
]


@pytest.mark.parametrize("case", BROKEN_OFF, ids=[case[0].__name__ for case in BROKEN_OFF])
def test_an_answer_broken_off_ends_so_for_the_client_and_is_kept_as_far_as_it_came(
    net: Net, recorder: Recorder, case
):
    net.answer, heard_of_it, response, error = case
    request = request_of(case[0].__name__)
    assert net.run(heard(recorder.url, head(request) + request, SEEN.extend)) == heard_of_it
    exchange = recorder.the_one(request)
    assert (exchange.info.status, exchange.response) == (200, response)
    assert exchange.info.error is not None
    assert exchange.info.error.startswith(f"HTTP/1 protocol error: {error}")


def whole(exchange: Exchange, status: int, response: bytes) -> None:
    assert (exchange.info.status, exchange.response) == (status, response)
    assert exchange.info.error is None


def test_what_comes_beyond_the_given_length_is_not_of_the_answer(net: Net, recorder: Recorder):
    async def too_long(_: Received, reply: Reply) -> None:
        await reply.head(content_length=3)
        await reply.raw(b"partial")

    net.answer = too_long
    request = request_of("too_long")
    assert net.run(ask(recorder.url, request)).body == b"par"
    whole(recorder.the_one(request), 200, b"par")


def test_an_answer_that_ends_with_its_connection_is_whole(net: Net, recorder: Recorder):
    async def until_closed(_: Received, reply: Reply) -> None:
        await reply.head(connection="close")
        await reply.raw(b"all of it")
        reply.writer.write_eof()

    net.answer = until_closed
    request = request_of("until_closed")
    assert net.run(ask(recorder.url, request)).body == b"all of it"
    whole(recorder.the_one(request), 200, b"all of it")


def test_an_error_of_five_megabytes_passes_whole(net: Net, recorder: Recorder):
    page = b"".join(b"%06d no\n" % line for line in range(500_000))

    async def failing(_: Received, reply: Reply) -> None:
        await reply.body(page, "500 Internal Server Error", content_type="text/html")

    net.answer = failing
    request = request_of("failing")
    got = net.run(ask(recorder.url, request))
    assert (got.status, got.body == page) == (500, True)
    assert recorder.the_one(request).response == page
    whole(recorder.the_one(request), 500, page)


def test_interim_responses_pass(net: Net, recorder: Recorder):
    hints = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"

    async def hinting(_: Received, reply: Reply) -> None:
        await reply.raw(hints)
        await seen(hints)
        await reply.body(b"hello")

    net.answer = hinting
    request = request_of("hinting")
    sent = head(request, connection="close") + request
    got = net.run(heard(recorder.url, sent, SEEN.extend))
    assert got == hints + b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
    whole(recorder.the_one(request), 200, b"hello")


def test_a_client_that_gives_up_on_an_upstream_that_never_answers(net: Net, recorder: Recorder):
    asked, hung_up = asyncio.Event(), asyncio.Event()

    async def silent(_: Received, reply: Reply) -> None:
        asked.set()
        assert await reply.reader.read() == b""
        hung_up.set()

    async def give_up(request: bytes) -> None:
        async with connected(recorder.url) as (_, writer):
            writer.write(head(request) + request)
            await asyncio.wait_for(asked.wait(), PATIENCE)
        # The upstream learns of it, as it would without the recorder: it need not compute on.
        await asyncio.wait_for(hung_up.wait(), PATIENCE)

    net.answer = silent
    request = request_of("silent")
    net.run(give_up(request))
    exchange = recorder.the_one(request)
    assert (exchange.info.status, exchange.response) == (None, b"")
    assert exchange.info.error == "Client disconnected."


def test_a_connection_is_used_again_also_when_the_upstream_closes_its_own(
    net: Net, recorder: Recorder
):
    closed = asyncio.Event()

    async def answer(request: Received, reply: Reply) -> None:
        await reply.body(b"answer to " + request.body)
        if b"reuse-2" in request.body:
            reply.writer.write_eof()
            # The recorder has heard of it when it closes its own end: until then the next request
            # may still be sent there, and 502 is an answer.
            assert await reply.reader.read() == b""
            closed.set()

    async def five_turns() -> list[bytes]:
        said = []
        async with connected(recorder.url) as (reader, writer):
            for turn in range(5):
                said.append((await talk(reader, writer, request_of(f"reuse-{turn}"))).body)
                if turn == 2:
                    await asyncio.wait_for(closed.wait(), PATIENCE)
        return said

    net.answer = answer
    before = net.connections
    requests = [request_of(f"reuse-{turn}") for turn in range(5)]
    assert net.run(five_turns()) == [b"answer to " + request for request in requests]
    assert net.connections - before == 2
    for request in requests:
        whole(recorder.the_one(request), 200, b"answer to " + request)


def test_a_failure_in_mid_stream_leaves_the_others_alone(net: Net, recorder: Recorder):
    failed = asyncio.Event()

    async def answer(request: Received, reply: Reply) -> None:
        await reply.events()
        await reply.chunk(EVENT)
        if b"broken" in request.body:
            await seen(EVENT)
            reply.reset()
            return
        await asyncio.wait_for(failed.wait(), PATIENCE)
        await reply.chunk(EVENT)
        await reply.end()

    async def side_by_side() -> tuple[bool, bytes]:
        well = asyncio.create_task(ask(recorder.url, request_of("well")))
        broken = await ask(recorder.url, request_of("broken"), took=SEEN.extend)
        failed.set()
        return broken.whole, (await well).body

    net.answer = answer
    assert net.run(side_by_side()) == (False, EVENT + EVENT)
    whole(recorder.the_one(request_of("well")), 200, EVENT + EVENT)


def test_an_upstream_that_refuses_and_then_comes_back(net: Net, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def late(url: str, request: bytes) -> bytes:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"late")
            await Reply(reader, writer).body(b"here now", connection="close")
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", port):
            return (await ask(url, request)).body

    with recording(f"http://127.0.0.1:{port}", tmp_path) as recorder:
        refused = net.run(ask(recorder.url, request_of("early")))
        assert (refused.status, b"Connect call failed" in refused.body) == (502, True)
        assert net.run(late(recorder.url, request_of("late"))) == b"here now"
        first, second = recorder.stored(2)
        assert recorder.end() == 0
    assert (first.request, first.info.status) == (request_of("early"), None)
    assert "Connect call failed" in (first.info.error or "")
    whole(second, 200, b"here now")
