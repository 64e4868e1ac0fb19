"""What recording adds to a request, against a plain `mitmdump` that only passes it on."""

import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.material import Agent, dumps
from cachediag.session import Session

__all__ = ["measure", "ratio"]

_GROUP = "recorder"
_SIZE = 60_000
_REQUESTS = 240
_WARM_UP = 10
# A model takes its time to answer, so one request has long been stored when the next one comes.
_PAUSE_SECONDS = 0.012
_STORED_SECONDS = 1.0
_AIM = 1.1
_ADDON = Path(__file__).parents[1] / "addons" / "capture.py"
_MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"

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


def ratio() -> float:
    """Give the latency through the recorder, in latencies through a plain `mitmdump`."""
    medians, _ = _medians()
    return medians["cachediag record"] / medians["mitmdump"]


def measure() -> Iterator[Figure]:
    """Send the same 60 KB bodies to a local server: directly, and through each proxy, in turn.

    Raises:
        RuntimeError: a proxy does not start, or not all is recorded.
    """
    medians, crowded = _medians()
    for name, seconds in medians.items():
        yield Figure(group=_GROUP, name=f"{name}, median", value=1e3 * seconds, unit="ms")
    direct, plain, ours = (medians[name] for name in ("direct", "mitmdump", "cachediag record"))
    added = (ours - direct) / (plain - direct)
    yield Figure(group=_GROUP, name="record / mitmdump", value=ours / plain, unit="×", aim=_AIM)
    yield Figure(
        group=_GROUP, name="added by record / by mitmdump", value=added, unit="×", aim=_AIM
    )
    for name, value in (
        ("mitmdump -s capture.py / mitmdump", medians["mitmdump -s capture.py"] / plain),
        ("record / mitmdump, without a pause", crowded["cachediag record"] / crowded["mitmdump"]),
    ):
        yield Figure(group=_GROUP, name=name, value=value, unit="×")


def _medians() -> tuple[dict[str, float], dict[str, float]]:
    """Give each way's median seconds: with pauses between requests, and one after the other."""
    agent = Agent(seed=3)
    while len(dumps(agent.body())) < _SIZE:
        agent.turn(2_000)
    bodies = [dumps(agent.body()) for _ in range(_WARM_UP + _REQUESTS)]
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ports = _start(directory, stack)
        clients = {name: HTTPConnection("127.0.0.1", port) for name, port in ports.items()}
        paused: dict[str, list[float]] = {name: [] for name in clients}
        crowded: dict[str, list[float]] = {name: [] for name in clients}
        for body in bodies:
            for name, client in clients.items():
                paused[name].append(_timed(client, body))
                time.sleep(_PAUSE_SECONDS)
        for start in range(0, len(bodies), _WARM_UP):
            for name, client in clients.items():
                block = bodies[start : start + _WARM_UP]
                crowded[name] += [_timed(client, body) for body in block]
        for client in clients.values():
            client.close()
        time.sleep(_STORED_SECONDS)
        _check(directory, 2 * len(bodies))
    return (
        {name: statistics.median(values[_WARM_UP:]) for name, values in paused.items()},
        {name: statistics.median(values[_WARM_UP:]) for name, values in crowded.items()},
    )


def _check(directory: Path, sent: int) -> None:
    """Make sure that all has been recorded that was sent."""
    for file in ("record.cachediag", "script.cachediag"):
        with Session.open(directory / file) as session:
            if len(session) != sent:
                raise RuntimeError(f"{file} holds {len(session)} of {sent} exchanges")


def _timed(client: HTTPConnection, body: bytes) -> float:
    headers = {"content-type": "application/json", "x-api-key": "sk-ant-bench-0123456789"}
    begun = time.perf_counter()
    client.request("POST", "/v1/messages?beta=true", body, headers)
    client.getresponse().read()
    return time.perf_counter() - begun


def _start(directory: Path, stack: contextlib.ExitStack) -> Mapping[str, int]:
    """Start the server and the proxies; give their ports."""
    server = _serve(stack)
    url = f"http://127.0.0.1:{server}"
    confdir = f"confdir={directory / 'confdir'}"
    plain = ["-c", _MITMDUMP, "--mode", f"reverse:{url}@127.0.0.1:0", "--set", confdir]
    file = f"cachediag_file={directory / 'script.cachediag'}"
    session = str(directory / "record.cachediag")
    commands = {
        "mitmdump": plain,
        "cachediag record": ["-m", "cachediag", "record", "--upstream", url, "-o", session],
        "mitmdump -s capture.py": [*plain, "-s", str(_ADDON), "--set", file],
    }
    ports = {name: _run(name, words, directory, stack) for name, words in commands.items()}
    return {"direct": server, **ports}


def _run(name: str, words: list[str], directory: Path, stack: contextlib.ExitStack) -> int:
    """Start a proxy; give the port that it says it listens on."""
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


def _serve(stack: contextlib.ExitStack) -> int:
    """Start the server in a process of its own; give its port."""
    ours, theirs = Pipe()
    server = get_context("spawn").Process(target=_server, args=(theirs,), daemon=True)
    server.start()
    stack.callback(server.join)
    stack.callback(server.terminate)
    port: int = ours.recv()
    return port


def _server(announce: Connection) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        announce.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(length[1]) if length else 0)
            writer.write(_ANSWER)
            await writer.drain()
    writer.close()
