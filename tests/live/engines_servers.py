"""Real engines, started on a free port of the loopback interface and stopped whatever happens."""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live import clients
from tests.live.engines_packages import engines_python, package, tiny_model

__all__ = ["Answer", "Server", "mlx_lm_server", "vllm_mlx_server"]

_START = 60.0
_ANSWER = 60.0
_VLLM_MLX = "import sys; from vllm_mlx.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, and when it began and ended, in seconds since the epoch."""

    status: int
    content_type: str
    body: bytes
    started: float
    first_byte: float
    ended: float


@dataclass(frozen=True, slots=True)
class Server:
    """A running engine."""

    url: str
    model: str
    """The name that requests give its model."""
    log: Path

    def post(self, path: str, body: bytes) -> Answer:
        """Send a request and take the whole response."""
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, body, headers)
        started = time.time()
        try:
            with _direct.open(request, timeout=_ANSWER) as response:
                first = response.read(1)
                first_byte = time.time()
                kind = response.headers.get("content-type", "")
                said = first + response.read()
                return Answer(response.status, kind, said, started, first_byte, time.time())
        except urllib.error.HTTPError as error:
            pytest.fail(f"{path}: HTTP {error.code}: {error.read().decode()[:500]}")

    def get(self, path: str) -> Any:
        """A JSON document."""
        with _direct.open(self.url + path, timeout=_ANSWER) as response:
            return json.load(response)

    def logged(self, pattern: re.Pattern[str], since: int) -> list[re.Match[str]]:
        """What the log says since it was so many characters long."""
        return list(pattern.finditer(self.log.read_text(encoding="utf-8"), since))


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@contextmanager
def vllm_mlx_server(home: Path, release: str) -> Iterator[Server]:
    """A release of vllm-mlx's server, as it starts without options."""
    place = package("vllm-mlx", release)
    words = (str(tiny_model()), "--host", "127.0.0.1", "--served-model-name", "tiny")
    with _running(home, place, ("-c", _VLLM_MLX, "serve", *words), "tiny") as server:
        yield server


@contextmanager
def mlx_lm_server(home: Path, release: str, kind: str = "qwen2") -> Iterator[Server]:
    """A release of mlx-lm's server with a kind of model, as it starts without options."""
    place = package("mlx-lm", release)
    words = ("-m", "mlx_lm", "server", "--model", str(tiny_model(kind)), "--host", "127.0.0.1")
    with _running(home, place, words, "default_model") as server:
        yield server


@contextmanager
def _running(home: Path, place: Path, words: tuple[str, ...], model: str) -> Iterator[Server]:
    port = _free_port()
    command = [str(engines_python()), *words, "--port", str(port)]
    more = {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(place)}
    environment = clients.environment(home) | more
    log = home / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command,
            env=environment,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        server = Server(f"http://127.0.0.1:{port}", model, log)
        try:
            _await(server, process)
            yield server
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _await(server: Server, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end and process.poll() is None:
        try:
            server.get("/health")
        except (OSError, ValueError):
            time.sleep(0.2)
        else:
            return
    said = server.log.read_text(encoding="utf-8", errors="replace")[-2000:]
    pytest.fail(f"the server did not start; it said:\n{said}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
