"""Clients that read slowly, or not at all."""

import asyncio
import hashlib
from urllib.parse import urlsplit

from tests.conftest import Received
from tests.faults.net import PATIENCE, Net, Reply, ask, head
from tests.faults.recorder import Recorder

PIECE = bytes(range(256)) * 256
PIECES = 512
SIZE = len(PIECE) * PIECES
MB = 1 << 20
BLOCKED = 4


async def digest_of_slowly_read(reader: asyncio.StreamReader) -> bytes:
    await reader.readuntil(b"\r\n\r\n")
    digest = hashlib.sha256()
    for _ in range(50):
        digest.update(await reader.readexactly(20))
        await asyncio.sleep(0.002)
    digest.update(await reader.readexactly(SIZE - 50 * 20))
    return digest.digest()


def test_clients_that_stop_reading_hold_up_their_own_upstream_and_nobody_else(
    net: Net, recorder: Recorder
):
    sent: dict[bytes, int] = {}

    async def answer(request: Received, reply: Reply) -> None:
        if b"blocked" not in request.body:
            await reply.body(b"answer to " + request.body)
            return
        await reply.head(content_length=SIZE, content_type="text/event-stream")
        for count in range(PIECES):
            await reply.raw(PIECE)
            sent[request.body] = len(PIECE) * (count + 1)

    async def stands_still() -> None:
        before = -1
        while len(sent) < BLOCKED or before != sum(sent.values()):
            before = sum(sent.values())
            await asyncio.sleep(0.5)

    async def others() -> None:
        for number in range(20):
            body = b'{"model":"other-%d"}' % number
            got = await asyncio.wait_for(ask(recorder.url, body), PATIENCE)
            assert got.body == b"answer to " + body

    async def scenario() -> None:
        parts = urlsplit(recorder.url)
        clients = []
        for number in range(BLOCKED):
            # Takes in no more than this ahead of its reader.
            client = await asyncio.open_connection(parts.hostname, parts.port, limit=1024)
            body = b'{"model":"blocked-%d"}' % number
            client[1].write(head(body) + body)
            clients.append(client)
        await asyncio.wait_for(stands_still(), PATIENCE)
        # What was sent is in the system's buffers, and as much of it in the recorder as it passed.
        await others()
        memory = recorder.memory() - resting
        assert sum(sent.values()) < BLOCKED * SIZE / 2
        assert memory < sum(sent.values()) + 32 * MB
        for _, writer in clients[1:]:
            writer.transport.abort()
        reader, writer = clients[0]
        assert await digest_of_slowly_read(reader) == hashlib.sha256(PIECE * PIECES).digest()
        writer.close()

    net.answer = answer
    net.run(others())
    resting = recorder.memory()
    net.run(scenario())
    whole = recorder.the_one(b'{"model":"blocked-0"}')
    assert (whole.response == PIECE * PIECES, whole.info.error) == (True, None)
    for number in range(1, BLOCKED):
        cut = recorder.the_one(b'{"model":"blocked-%d"}' % number)
        assert cut.info.error == "Client disconnected."
        assert 0 < len(cut.response) < SIZE
        assert (PIECE * PIECES).startswith(cut.response)
    # What an answer took is given back.
    assert recorder.memory() - resting < 3 * SIZE + 32 * MB
