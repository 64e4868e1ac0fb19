"""A recorder before a server, in this process."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cachediag.capture.addon import Capture
from cachediag.capture.proxy import Proxy, Reverse, running_proxy
from cachediag.capture.writer import Store, Writer
from cachediag.model import Exchange
from cachediag.session import Session


@dataclass
class Recorded:
    """A recorder that is running, or has run."""

    path: Path
    proxy: Proxy
    capture: Capture
    writer: Writer
    told: list[str] = field(default_factory=list)

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.proxy.base_url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def exchanges(self) -> list[Exchange]:
        with Session.open(self.path) as session:
            return list(session.exchanges())

    def exchange(self) -> Exchange:
        (exchange,) = self.exchanges()
        return exchange


Recorder = Callable[..., AbstractContextManager[Recorded]]


@pytest.fixture(scope="session")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One CA for all tests: making one takes a while."""
    return tmp_path_factory.mktemp("data") / "mitmproxy"


@pytest.fixture
def recorder(tmp_path: Path, confdir: Path) -> Recorder:
    """Record what goes to a server: `with recorder(url) as recorded`."""
    path = tmp_path / "test.cachediag"

    @contextmanager
    def record(
        *origins: str,
        store: Callable[[], Store] | None = None,
        addons: Sequence[object] = (),
        settle: float = 5,
    ) -> Iterator[Recorded]:
        told: list[str] = []
        writer = Writer(store or (lambda: Session.create(path)), tell=told.append)
        capture = Capture(writer)
        with running_proxy(
            Reverse(origins),
            addons=[capture, *addons],
            confdir=confdir,
            environ={},
            warn=told.append,
        ) as proxy:
            yield Recorded(path, proxy, capture, writer, told)
            deadline = time.monotonic() + settle
            while capture.in_flight and time.monotonic() < deadline:
                time.sleep(0.005)
            capture.ending = True

    return record
