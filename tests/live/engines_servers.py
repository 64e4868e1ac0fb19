"""Real engines, asked as a client would ask them."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cachediag.backends.sandbox import Engine, Kind, running
from tests.live.engines_packages import live_sandbox

__all__ = ["Answer", "Server", "server"]

_ANSWER = 60.0


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
def server(
    home: Path, engine: Engine, release: str, kind: Kind = "qwen2", *options: str
) -> Iterator[Server]:
    """A release of an engine's server with a kind of model, as it starts without options."""
    started = running(live_sandbox(), engine, release, kind=kind, options=options, home=home)
    with started as running_server:
        yield Server(running_server.base_url, running_server.model, running_server.log)
