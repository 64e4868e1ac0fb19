"""The thread that mitmproxy runs on.

Only the parts of mitmproxy that pass traffic on are loaded: no flow view, no dumper, no log view,
so memory does not grow with the session and each request costs less than in `mitmdump`.
"""

import asyncio
import base64
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self
from urllib.parse import unquote, urlsplit

from mitmproxy import http
from mitmproxy.addons.disable_h2c import DisableH2C
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.connection import ConnectionState
from mitmproxy.master import Master
from mitmproxy.options import Options
from mitmproxy.proxy import server
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

from cachediag.capture import http1
from cachediag.capture.redact import scrub

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["serve"]

# A prompt may be prefilled for longer than the ten minutes after which mitmproxy gives a silent
# connection up.
_IDLE_SECONDS = 24 * 60 * 60
_HANG_UP_SECONDS = 2.0
_MOST_WARNINGS = 8


def serve(
    options: Mapping[str, object],
    *,
    addons: Sequence[object],
    via: Mapping[str, str],
    started: "Future[Callable[[], None]]",
    stopped: threading.Event,
    warn: Callable[[str], None],
) -> None:
    """Run a proxy until it is told to stop.

    Args:
        options: mitmproxy options.
        addons: called in this order.
        via: URL of the HTTP proxy to go through, by the origin it leads to; under an empty name for
            all that a forward proxy is asked for.
        started: gets the function that stops it, once it listens, or the reason why it does not.
        stopped: set at the end.
        warn: told of each of mitmproxy's warnings once.
    """
    try:
        with _surfaced(lambda text: warn(text) if started.done() else None):
            asyncio.run(_serve(options, addons, via, started))
    except Exception as error:  # noqa: BLE001 - whatever it is, someone waits to hear of it
        if started.done():
            warn(f"the proxy has stopped: {scrub(str(error), ())}")
        else:
            started.set_exception(error)
    finally:
        stopped.set()


async def _serve(
    options: Mapping[str, object],
    addons: Sequence[object],
    via: Mapping[str, str],
    started: "Future[Callable[[], None]]",
) -> None:
    http1.complete()
    master = Master(Options())
    proxyserver = Proxyserver()
    through = [_ThroughProxies(via)] if any(via.values()) else []
    try:
        master.addons.add(_Together(proxyserver, NextLayer(), TlsConfig(), DisableH2C()))
        # First, so that the others are told of the end when nothing passes any more.
        master.addons.add(_HangsUp(proxyserver), *through, *addons)
        master.addons.add(_Started(master, proxyserver, started))
        master.options.update(**options)
        for mode in master.options.mode:
            _listen_on_tcp_alone(mode)
        if "tcp_timeout" in master.options:
            master.options.update(tcp_timeout=_IDLE_SECONDS)
        else:
            # mitmproxy 11 has no option for it.
            vars(server)["TCP_TIMEOUT"] = _IDLE_SECONDS
        await master.run()
    except BaseException:
        # Takes back the log handler that a master installs.
        await master.done()
        raise
    finally:
        await _hang_up(proxyserver)


def _listen_on_tcp_alone(mode: str) -> None:
    """Open no UDP port for an https origin.

    mitmproxy would, for HTTP/3, though the client is given an http address. The threads of that
    server outlive the event loop and, in one run of twenty, crash the interpreter as it exits.
    """
    # Cached there: it is the instance that mitmproxy will use.
    parsed = ProxyMode.parse(mode)
    if parsed.transport_protocol == "both":
        object.__setattr__(parsed, "transport_protocol", "tcp")


async def _hang_up(proxyserver: Proxyserver) -> None:
    """Close what clients hold open; tasks that the loop has to cancel make asyncio complain."""
    await proxyserver.servers.update([])
    handlers = list(proxyserver.connections.values())
    for handler in handlers:
        await handler.on_timeout()
    deadline = time.monotonic() + _HANG_UP_SECONDS
    while proxyserver.connections and time.monotonic() < deadline:
        await asyncio.sleep(0.01)


class _Together:
    """Addons that mitmproxy calls as one, which costs each request less than calling each."""

    def __init__(self, *addons: object) -> None:
        self.addons = addons


class _HangsUp:
    """Closes the connections as the proxy ends."""

    def __init__(self, proxyserver: Proxyserver) -> None:
        self._proxyserver = proxyserver

    async def done(self) -> None:
        await _hang_up(self._proxyserver)


class _Started:
    """Tells that the proxy listens, or why it does not."""

    def __init__(
        self,
        master: Master,
        proxyserver: Proxyserver,
        started: "Future[Callable[[], None]]",
    ) -> None:
        self._master = master
        self._proxyserver = proxyserver
        self._started = started

    def running(self) -> None:
        for instance in self._proxyserver.servers:
            if instance.last_exception is not None:
                self._started.set_exception(instance.last_exception)
                self._master.shutdown()
                return
        self._master.addons.remove(self)
        self._started.set_result(self._master.shutdown)


class _ThroughProxies:
    """Reaches upstreams through HTTP proxies, as the client would have done."""

    def __init__(self, via: Mapping[str, str]) -> None:
        self._via = {origin: _ProxyUrl.parse(url) for origin, url in via.items() if url}

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        mode = flow.client_conn.proxy_mode
        if isinstance(mode, ReverseMode):
            proxy = self._via.get(mode.data)
            if proxy is not None and flow.server_conn.state is ConnectionState.CLOSED:
                flow.server_conn.via = (proxy.scheme, proxy.address)
        elif flow.request.scheme == "http":
            self._authorize(flow, self._via.get(""))

    def http_connect_upstream(self, flow: http.HTTPFlow) -> None:
        address = flow.server_conn.address
        self._authorize(flow, next((p for p in self._via.values() if p.address == address), None))

    def _authorize(self, flow: http.HTTPFlow, proxy: "_ProxyUrl | None") -> None:
        if proxy is not None and proxy.authorization is not None:
            flow.request.headers["Proxy-Authorization"] = proxy.authorization


@dataclass(frozen=True, slots=True)
class _ProxyUrl:
    scheme: Literal["http", "https"]
    address: tuple[str, int]
    authorization: str | None

    @classmethod
    def parse(cls, url: str) -> Self:
        parts = urlsplit(url)
        scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
        authorization = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
        port = parts.port or (443 if scheme == "https" else 80)
        return cls(scheme, (parts.hostname or "", port), authorization)


class _Surface(logging.Handler):
    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._warn = warn
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = scrub(record.getMessage(), ()).partition("\n")[0]
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text} ({type(record.exc_info[1]).__name__})"
        if text and text not in self._said and len(self._said) < _MOST_WARNINGS:
            self._said.add(text)
            # What cannot be said must not reach the code that logged it.
            with contextlib.suppress(Exception):
                self._warn(f"mitmproxy: {text}")


@contextlib.contextmanager
def _surfaced(warn: Callable[[str], None]) -> Iterator[None]:
    """Send mitmproxy's warnings to `warn`, and nothing of its log anywhere else."""
    logger = logging.getLogger("mitmproxy")
    handler = _Surface(warn)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
