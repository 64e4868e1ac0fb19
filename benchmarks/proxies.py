"""A local server that streams a short answer, proxies before it, and how long a request takes."""

import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

__all__ = ["WARM_UP", "Medians", "medians", "run", "serve"]

WARM_UP = 10
"""Of the bodies, so many at the beginning are not measured."""

# A model takes its time to answer, so one request has long been stored when the next one comes.
_PAUSE_SECONDS = 0.012
_STORED_SECONDS = 1.0

_EVENTS = (
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":'
    b'{"input_tokens":15000,"output_tokens":1}}}\n\n',
    *[
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":'
        b'{"type":"text_delta","text":"a few words of an answer"}}\n\n'
    ]
    * 3,
    b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":18}}\n\n',
)
_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in _EVENTS)
    + b"0\r\n\r\n"
)

Medians = dict[str, float]
"""Median seconds of a request, by the way it took."""


def medians(ports: Mapping[str, int], bodies: Sequence[bytes]) -> tuple[Medians, Medians]:
    """Send the same bodies each way, in turn.

    Args:
        ports: of each way.
        bodies: sent twice each way.

    Returns:
        With a pause behind each request, and without one.
    """
    clients = {name: HTTPConnection("127.0.0.1", port) for name, port in ports.items()}
    paused: dict[str, list[float]] = {name: [] for name in clients}
    crowded: dict[str, list[float]] = {name: [] for name in clients}
    for body in bodies:
        for name, client in clients.items():
            paused[name].append(_timed(client, body))
            time.sleep(_PAUSE_SECONDS)
    for start in range(0, len(bodies), WARM_UP):
        for name, client in clients.items():
            block = bodies[start : start + WARM_UP]
            crowded[name] += [_timed(client, body) for body in block]
    for client in clients.values():
        client.close()
    time.sleep(_STORED_SECONDS)
    return (
        {name: statistics.median(values[WARM_UP:]) for name, values in paused.items()},
        {name: statistics.median(values[WARM_UP:]) for name, values in crowded.items()},
    )


def _timed(client: HTTPConnection, body: bytes) -> float:
    headers = {"content-type": "application/json", "x-api-key": "sk-ant-bench-0123456789"}
    begun = time.perf_counter()
    client.request("POST", "/v1/messages?beta=true", body, headers)
    client.getresponse().read()
    return time.perf_counter() - begun


def run(name: str, words: Sequence[str], directory: Path, stack: contextlib.ExitStack) -> int:
    """Start a proxy; give the port that it says it listens on.

    Args:
        name: what to call it.
        words: arguments of the interpreter.
        directory: for what it stores and says.
        stack: ends it.

    Raises:
        RuntimeError: it does not start.
    """
    root = Path(__file__).parents[1]
    environ = {**os.environ, "CACHEDIAG_HOME": str(directory), "PYTHONPATH": str(root)}
    said = directory / f"{name.replace(' ', '-')}.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-u", *words], env=environ, stdout=log, stderr=subprocess.STDOUT
        )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    while process.poll() is None:
        if found := re.search(r"127\.0\.0\.1:(\d+)(?: →|\.$)", said.read_text(), re.MULTILINE):
            return int(found[1])
        time.sleep(0.05)
    raise RuntimeError(f"{name} did not start:\n{said.read_text()}")


def serve(stack: contextlib.ExitStack) -> int:
    """Start the server in a process of its own; give its port."""
    ours, theirs = Pipe()
    server = get_context("spawn").Process(target=_server, args=(theirs,), daemon=True)
    server.start()
    stack.callback(server.join)
    stack.callback(server.terminate)
    port: int = ours.recv()
    return port


def _server(announce: Connection) -> None:
    async def serve_forever() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        announce.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve_forever())


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(length[1]) if length else 0)
            writer.write(_ANSWER)
            await writer.drain()
    writer.close()
