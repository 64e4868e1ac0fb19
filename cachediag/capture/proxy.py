"""Running mitmproxy inside this process, on a thread of its own.

```python
upstream = Reverse(("http://127.0.0.1:8000",))
with running_proxy(upstream, addons=[Capture(writer)], confdir=directory) as proxy:
    httpx.post(f"{proxy.base_url}/v1/messages", ...)
```
"""

import contextlib
import ipaddress
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from cachediag.capture import ca
from cachediag.capture.redact import scrub
from cachediag.errors import UsageError

__all__ = ["Forward", "Proxy", "Reverse", "free_ports", "is_loopback", "running_proxy"]

_START_SECONDS = 60.0
_STOP_SECONDS = 90.0
_PORT_ATTEMPTS = 4

# mitmproxy keeps its master in a module, so a second one would take the first one's place.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Reverse:
    """Stand in for servers: one port for each origin (`scheme://host:port`)."""

    origins: tuple[str, ...]
    via: Mapping[str, str] = field(default_factory=dict)
    """URL of the HTTP proxy that leads to an origin; absent where it is reached directly."""


@dataclass(frozen=True, slots=True)
class Forward:
    """Be an HTTP proxy that decrypts only what goes to the given hosts (`host:port`).

    Everything else is passed on as the bytes it is, so other programs keep their end-to-end TLS.
    """

    hosts: tuple[str, ...]
    via: str | None = None
    """URL of the HTTP proxy that everything goes through; None where there is none."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that is running."""

    urls: Mapping[str, str]
    """Its local `http://host:port` for each origin it stands in for; for a forward proxy there is
    one, under an empty name."""
    stopped: threading.Event
    """Set once it no longer runs."""

    @property
    def base_url(self) -> str:
        """The first local `http://host:port`."""
        return next(iter(self.urls.values()))


@dataclass(frozen=True, slots=True)
class _Listener:
    """A mitmproxy mode and where it listens."""

    spec: str
    origin: str
    url: str


@contextlib.contextmanager
def running_proxy(
    target: Reverse | Forward,
    *,
    addons: Sequence[object],
    confdir: Path,
    host: str = "127.0.0.1",
    port: int = 0,
    environ: Mapping[str, str] = os.environ,
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[Proxy]:
    """Run a proxy as long as the block lasts.

    Args:
        target: what it stands in for.
        addons: mitmproxy addons, called in this order.
        confdir: holds the proxy's CA; made if it is not there.
        host: address to listen on.
        port: port of the first origin; 0 takes a free one, as further origins always do.
        environ: says which CAs an https upstream is verified with.
        warn: told of each of mitmproxy's warnings once; called on the proxy's thread.

    Yields:
        The running proxy. When the block ends, `done` of every addon has been called.

    Raises:
        UsageError: if it cannot listen there.
    """
    if not _one_at_a_time.acquire(blocking=False):
        raise RuntimeError("a proxy is already running in this process")
    try:
        ca.prepare(confdir)
        options: dict[str, object] = {
            "confdir": str(confdir),
            "ssl_verify_upstream_trusted_ca": ca.upstream_trust(confdir, environ),
            # With "lazy" an upstream that is down is answered with 502, not with a closed socket;
            # a forward proxy says so at CONNECT only if it is "eager".
            "connection_strategy": "lazy" if isinstance(target, Reverse) else "eager",
            # What a client and a server have agreed on is theirs: a recorder does not refuse it.
            "validate_inbound_headers": False,
        }
        if isinstance(target, Forward):
            options["allow_hosts"] = [rf"^{re.escape(name)}$" for name in target.hosts]
        with _started(target, host, port, addons=addons, options=options, warn=warn) as proxy:
            yield proxy
    finally:
        _one_at_a_time.release()


@contextlib.contextmanager
def _started(
    target: Reverse | Forward,
    host: str,
    port: int,
    *,
    addons: Sequence[object],
    options: Mapping[str, object],
    warn: Callable[[str], None],
) -> Iterator[Proxy]:
    from cachediag.capture.serving import serve

    # Between choosing a free port and listening on it, another process may take it.
    for attempt in range(1 if port else _PORT_ATTEMPTS):
        listeners = _listeners(target, host, port)
        shutdown: Future[Callable[[], None]] = Future()
        stopped = threading.Event()
        modes = {"mode": [listener.spec for listener in listeners]}
        thread = threading.Thread(
            target=serve,
            args=({**options, **modes},),
            kwargs={
                "addons": addons,
                "via": target.via if isinstance(target, Reverse) else {"": target.via or ""},
                "started": shutdown,
                "stopped": stopped,
                "warn": warn,
            },
            name="cachediag-proxy",
            daemon=True,
        )
        thread.start()
        try:
            stop = shutdown.result(_START_SECONDS)
            break
        except OSError as error:
            thread.join(_STOP_SECONDS)
            if attempt == _PORT_ATTEMPTS - 1 or port:
                raise UsageError(
                    f"cannot listen there: {os.strerror(error.errno) if error.errno else error}",
                    where=f"{host}:{port}" if port else host,
                    remedy="Give another --port, or leave it out to take a free one.",
                ) from error
        except Exception as error:
            raise UsageError(f"the proxy cannot start: {scrub(str(error), ())}") from error
    try:
        yield Proxy({listener.origin: listener.url for listener in listeners}, stopped)
    finally:
        stop()
        thread.join(_STOP_SECONDS)


def _listeners(target: Reverse | Forward, host: str, port: int) -> list[_Listener]:
    address = _resolved(host)
    if isinstance(target, Reverse):
        modes = [(f"reverse:{origin}", origin) for origin in target.origins]
    else:
        modes = [(f"upstream:{_without_userinfo(target.via)}" if target.via else "regular", "")]
    # mitmproxy refuses two modes on the same port even where that is 0, for "any".
    ports = free_ports(address, len(modes))
    if port:
        ports[0] = port
    return [
        _Listener(f"{mode}@{address}:{number}", origin, f"http://{_reachable(address)}:{number}")
        for (mode, origin), number in zip(modes, ports, strict=True)
    ]


def _without_userinfo(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def free_ports(address: str, count: int) -> list[int]:
    """Find ports of an address that nothing listens on now, all of them different."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server((address, 0), family=family))
            for _ in range(count)
        ]
        return [one.getsockname()[1] for one in sockets]


def _resolved(host: str) -> str:
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError as error:
        raise UsageError(
            "not an address of this machine",
            where=host,
            remedy="Leave --host out to listen on 127.0.0.1.",
        ) from error


def _reachable(address: str) -> str:
    """Give the address to connect to where a proxy listens on all of them."""
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104
    return f"[{address}]" if ":" in address else address


def is_loopback(host: str) -> bool:
    """Tell whether what listens on an address can be reached from this machine alone.

    Raises:
        UsageError: if it is no address.
    """
    return ipaddress.ip_address(_resolved(host)).is_loopback
