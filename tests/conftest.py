"""A loopback server whose answers a test writes byte by byte, and a mitmdump with our scripts."""

import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]

# Neither an example nor the making of examples is judged by what it takes on a busy machine.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Let interrupts through, to which what is started in the background is deaf."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Received:
    """A request as it came off the wire; names of headers in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """Writes an answer."""

    handler: BaseHTTPRequestHandler

    def head(self, status: int = 200, **headers: str) -> None:
        """Send status and headers; `content_type` stands for `content-type`."""
        self.handler.send_response(status)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()

    def raw(self, data: bytes) -> None:
        self.handler.wfile.write(data)
        self.handler.wfile.flush()

    def chunk(self, data: bytes) -> None:
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def body(self, data: bytes, status: int = 200, **headers: str) -> None:
        """Send a whole answer of known length."""
        self.head(status, content_length=str(len(data)), **headers)
        self.raw(data)

    def stream(self, *chunks: bytes, **headers: str) -> None:
        """Send a whole event stream."""
        self.head(200, content_type="text/event-stream", transfer_encoding="chunked", **headers)
        for chunk in chunks:
            self.chunk(chunk)
        self.raw(b"0\r\n\r\n")

    def hang_up(self) -> None:
        """Close the connection as a server that has crashed does."""
        self.handler.close_connection = True
        self.handler.connection.shutdown(socket.SHUT_RDWR)


Answer = Callable[[Received, Reply], Any]


@dataclass(frozen=True)
class Server:
    """A server that is running."""

    url: str
    received: list[Received] = field(default_factory=list)
    asked: list[Received] = field(default_factory=list)
    """What cachediag asked to learn what server it is."""
    told: dict[str, bytes] = field(default_factory=dict)
    """What it is answered, by path."""

    @property
    def bodies(self) -> list[bytes]:
        return [request.body for request in self.received]


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers: `serve(answer)`, or `serve(answer, tls=context)`."""
    running: list[ThreadingHTTPServer] = []

    def start(answer: Answer, tls: ssl.SSLContext | None = None) -> Server:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                pass

            def answer(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Received(self.command, self.path, headers, _body(self, headers))
                if headers.get("user-agent", "").startswith("cachediag/"):
                    server.asked.append(request)
                    found = server.told.get(self.path)
                    Reply(self).body(found or b"", 404 if found is None else 200)
                    return
                server.received.append(request)
                answer(request, Reply(self))

            do_GET = do_HEAD = do_POST = do_DELETE = answer  # noqa: N815 - as http.server names them

        class Listener(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_: object) -> None:
                """A client that has gone away is part of some tests."""

        listener = Listener(("127.0.0.1", 0), Handler)
        if tls is not None:
            listener.socket = tls.wrap_socket(listener.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        server = Server(f"{scheme}://127.0.0.1:{listener.server_port}")
        running.append(listener)
        threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()
        return server

    yield start
    for listener in running:
        listener.shutdown()
        listener.server_close()


def _body(handler: BaseHTTPRequestHandler, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return handler.rfile.read(int(headers.get("content-length", "0")))
    body = b""
    while size := int(handler.rfile.readline(), 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return body


@dataclass(frozen=True)
class Mitmdump:
    """A mitmdump that is running."""

    process: "subprocess.Popen[str]"
    port: int
    said: str
    """Up to the line in which it names the port."""

    def ended(self) -> str:
        """End it by Ctrl-C; give what it said."""
        self.process.send_signal(signal.SIGINT)
        said, _ = self.process.communicate(timeout=20)
        assert self.process.returncode == 0
        return said


@pytest.fixture
def mitmdump(tmp_path: Path) -> Iterator[Callable[..., Mitmdump]]:
    """Start mitmdump: `mitmdump("capture.py", *options)`."""
    running: list[subprocess.Popen[str]] = []

    def start(script: str, *options: str) -> Mitmdump:
        command = "from mitmproxy.tools.main import mitmdump; mitmdump()"
        confdir = f"confdir={tmp_path / 'confdir'}"
        listen = ["--listen-host", "127.0.0.1", "-p", "0", "--set", confdir]
        scripts = ["-s", str(ROOT / "addons" / script)]
        process = subprocess.Popen(
            [sys.executable, "-c", command, *scripts, *listen, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT), "CACHEDIAG_HOME": str(tmp_path / "home")},
        )
        running.append(process)
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if " listening at " in line:
                return Mitmdump(process, int(line.rstrip(" .\n").rpartition(":")[2]), said)
        raise AssertionError(f"mitmdump ended: {process.wait()}\n{said}")

    yield start
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
