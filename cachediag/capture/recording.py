"""A recording: the proxy, the writer, and what a client must be told, put together."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cachediag.capture import ca, client
from cachediag.capture.proxy import Forward, Proxy, Reverse, running_proxy
from cachediag.capture.redact import safe_url
from cachediag.capture.writer import Tell, Writer
from cachediag.model import Exchange
from cachediag.session import Session, sessions_dir

__all__ = ["Plan", "Recording", "confdir", "plan_forward", "plan_reverse", "recording"]

_SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a recording stands: what the proxy stands in for, and what the client must be told."""

    target: Reverse | Forward
    environment: Callable[[Proxy], dict[str, str]]
    """Gives the variables to set for a client of the running proxy."""
    upstreams: Mapping[str, str]
    """What stands behind each of the proxy's `urls`, fit to be shown."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording that is going on, or has ended."""

    proxy: Proxy
    writer: Writer

    @property
    def lost(self) -> int:
        """Exchanges that could not be stored so far."""
        return self.writer.lost


def confdir() -> Path:
    """Return the directory of the proxy's own CA."""
    return sessions_dir().parent / "mitmproxy"


def plan_reverse(environ: Mapping[str, str], upstream: str | None = None) -> Plan:
    """Plan to stand in for the servers that the client would talk to.

    Args:
        environ: the environment the client would have had.
        upstream: one server to use instead.

    Raises:
        UsageError: if a server's URL is none.
    """
    urls = client.base_urls(environ, upstream)
    shown = {client.origin_of(url): safe_url(url).rstrip("/") for url in reversed(urls.values())}
    origins = tuple(dict.fromkeys(client.origin_of(url) for url in urls.values()))
    return Plan(
        target=Reverse(origins, via=client.proxies_to(origins, environ)),
        environment=lambda proxy: client.reverse_environment(environ, urls, proxy.urls),
        upstreams={origin: shown[origin] for origin in origins},
    )


def plan_forward(environ: Mapping[str, str], upstream: str | None = None) -> Plan:
    """Plan to be the HTTP proxy of a client that keeps its own server.

    Args:
        environ: the environment the client would have had.
        upstream: a server that the client is to use instead of its own.

    Raises:
        UsageError: if a server's URL is none.
    """
    urls = client.base_urls(environ, upstream)
    known = [*urls.values(), *client.VENDORS.values()]
    hosts = tuple(dict.fromkeys(client.host_of(url) for url in known))
    # One proxy stands behind this one for all hosts: that of the client's own servers, and none
    # where those are reached directly.
    own = client.proxies_to(map(client.origin_of, urls.values()), environ)
    via = next(iter(own.values()), None)

    def environment(proxy: Proxy) -> dict[str, str]:
        trust = ca.child_trust(confdir(), environ)
        proxied = client.forward_environment(environ, proxy.base_url, trust, hosts)
        return {**proxied, **(urls if upstream else {})}

    return Plan(
        target=Forward(hosts, via=via),
        environment=environment,
        upstreams={"": ", ".join(host.removesuffix(":443") for host in hosts)},
    )


@contextmanager
def recording(
    path: Path,
    plan: Plan,
    *,
    meta: Mapping[str, str],
    tell: Tell,
    stored: Callable[[Exchange], None] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    addons: Sequence[object] = (),
) -> Iterator[Recording]:
    """Record into a session file as long as the block lasts.

    Args:
        path: the session file, made or continued.
        plan: as from `plan_reverse` or `plan_forward`.
        meta: what the session is to say of the recording.
        tell: told, a line each, of what goes wrong without stopping the traffic.
        stored: called with each exchange once it is stored, on a thread of its own.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
        addons: further mitmproxy addons; they see each request after it has been recorded.

    Yields:
        The recording; when the block has ended, all that passed is stored or counted as lost.

    Raises:
        UsageError: if it cannot listen there.
    """
    from cachediag.capture.addon import Capture

    writer = Writer(lambda: Session.create(path, meta=meta), tell=tell, stored=stored)
    capture = Capture(writer, others=isinstance(plan.target, Reverse))
    try:
        with running_proxy(
            plan.target,
            addons=[capture, *addons],
            confdir=confdir(),
            host=host,
            port=port,
            warn=tell,
        ) as proxy:
            yield Recording(proxy, writer)
            # A client may be gone before the proxy has seen the end of its last exchange.
            deadline = time.monotonic() + _SETTLE_SECONDS
            while capture.in_flight and time.monotonic() < deadline:
                time.sleep(0.01)
            capture.ending = True
    finally:
        writer.close()
