"""A made-up upstream that misbehaves byte by byte, and clients that see every byte."""

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tests.conftest import Received

__all__ = [
    "PATIENCE",
    "Net",
    "Reply",
    "Response",
    "Tunnel",
    "ask",
    "connected",
    "head",
    "heard",
    "talk",
]

PATIENCE = 60.0
"""Seconds after which something that should have happened has not; far above what it takes."""

PATH = "/v1/messages?beta=true"

T = TypeVar("T")


@dataclass
class Reply:
    """The upstream's end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sent: int = 0

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        self.sent += len(data)
        await self.writer.drain()

    async def head(self, status: str = "200 OK", **headers: object) -> None:
        """Send status and headers; `content_type` stands for `content-type`."""
        lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
        await self.raw(f"HTTP/1.1 {status}\r\n{''.join(lines)}\r\n".encode())

    async def events(self) -> None:
        """Send the head of a chunked event stream."""
        await self.head(content_type="text/event-stream", transfer_encoding="chunked")

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def body(self, data: bytes, status: str = "200 OK", **headers: object) -> None:
        await self.head(status, content_length=len(data), **headers)
        await self.raw(data)

    def reset(self) -> None:
        """Have the connection end in a reset, as that of a server that was killed may."""
        reset_on_close(self.writer.get_extra_info("socket"))
        self.writer.transport.abort()


def reset_on_close(sock: Any) -> None:
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


Answer = Callable[[Received, Reply], Awaitable[None]]


@dataclass
class Net:
    """An event loop on a thread, with an upstream on it."""

    loop: asyncio.AbstractEventLoop
    answer: Answer
    url: str = ""
    connections: int = 0
    """That carried requests of clients."""
    received: list[Received] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @classmethod
    @contextmanager
    def running(cls, tls: Any = None) -> Iterator["Net"]:
        """Run one; `answer` is called for each request, and may be set anew at any time."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        net = cls(loop, _nothing_to_say)
        try:
            server = net.run(asyncio.start_server(net._serve, "127.0.0.1", 0, ssl=tls, backlog=256))
            port = server.sockets[0].getsockname()[1]
            net.url = f"http{'s' if tls else ''}://127.0.0.1:{port}"
            yield net
            server.close()
            net.run(net._cancelled())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(4 * PATIENCE)

    async def _cancelled(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        reply = Reply(reader, writer)
        known = False
        # Whoever has gone away is part of the tests.
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while not writer.is_closing():
                    request = await _read_request(reader)
                    if request.headers.get("user-agent", "").startswith("cachediag/"):
                        await reply.body(b"", "404 Not Found")
                        continue
                    self.connections += not known
                    known = True
                    self.received.append(request)
                    await self.answer(request, reply)
        finally:
            self._tasks.discard(task)
            writer.close()


async def _nothing_to_say(request: Received, reply: Reply) -> None:
    await reply.body(b"{}")


async def _read_request(reader: asyncio.StreamReader) -> Received:
    first, headers = await _read_head(reader)
    method, path, _ = first.split(" ", 2)
    if headers.get("transfer-encoding") == "chunked":
        body = b"".join([piece async for piece in _chunks(reader)])
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)


async def _read_head(reader: asyncio.StreamReader) -> tuple[str, dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines[1:] if line)
    return lines[0], {name.lower(): value.strip() for name, _, value in pairs}


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)


@dataclass(frozen=True)
class Response:
    """What a client got."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool
    """False where the connection ended before the answer did."""


Took = Callable[[bytes], None]


def head(body: bytes, **headers: object) -> bytes:
    """A request, up to its body."""
    named = {"host": "x", "content_type": "application/json", "content_length": len(body)}
    pairs = {**named, **headers}.items()
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in pairs]
    return f"POST {PATH} HTTP/1.1\r\n{''.join(lines)}\r\n".encode()


@dataclass(frozen=True)
class Tunnel:
    """A forward proxy, and what its certificates are checked with."""

    url: str
    tls: ssl.SSLContext


@asynccontextmanager
async def connected(
    url: str, tunnel: Tunnel | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A client's connection."""
    parts = urlsplit(tunnel.url if tunnel else url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        if tunnel:
            beyond = urlsplit(url)
            writer.write(f"CONNECT {beyond.netloc} HTTP/1.1\r\n\r\n".encode())
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            await writer.start_tls(tunnel.tls, server_hostname=beyond.hostname)
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def talk(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    body: bytes,
    *,
    took: Took = lambda _: None,
    **headers: object,
) -> Response:
    """Send a request on a connection, and read the answer; `took` is told of each piece."""
    writer.write(head(body, **headers) + body)
    await writer.drain()
    first, named = await _read_head(reader)
    pieces: list[bytes] = []
    whole = True
    try:
        async for piece in _pieces(reader, named):
            pieces.append(piece)
            took(piece)
    except (asyncio.IncompleteReadError, OSError):
        whole = False
    return Response(int(first.split(" ", 2)[1]), named, b"".join(pieces), whole)


async def _pieces(reader: asyncio.StreamReader, headers: dict[str, str]) -> AsyncIterator[bytes]:
    if headers.get("transfer-encoding") == "chunked":
        async for piece in _chunks(reader):
            yield piece
        return
    left = int(headers["content-length"]) if "content-length" in headers else None
    while left is None or left:
        piece = await reader.read(65536 if left is None else min(left, 65536))
        if not piece:
            if left:
                raise asyncio.IncompleteReadError(b"", left)
            return
        left = None if left is None else left - len(piece)
        yield piece


async def ask(url: str, body: bytes | dict[str, Any], **options: Any) -> Response:
    """Send one request on a connection of its own."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with connected(url) as (reader, writer):
        return await talk(reader, writer, data, **options)


async def heard(url: str, request: bytes, took: Took = lambda _: None) -> bytes:
    """Send bytes; give all that comes until the connection ends, in whatever way."""
    got = b""
    async with connected(url) as (reader, writer):
        writer.write(request)
        with suppress(ConnectionError):
            while piece := await asyncio.wait_for(reader.read(65536), PATIENCE):
                got += piece
                took(piece)
    return got
