"""What the commands share that put a proxy between a client and its server."""

import os
import shlex
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from cachediag.cli.screen import Screen
from cachediag.errors import CachediagError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cachediag.capture.proxy import Proxy
    from cachediag.capture.recording import Plan

__all__ = [
    "CONTEXT_SETTINGS",
    "CommandArgument",
    "HostOption",
    "Mode",
    "ModeOption",
    "PortOption",
    "UpstreamOption",
    "planned",
    "told_of",
    "until_the_end",
]

CONTEXT_SETTINGS = {"allow_interspersed_args": False}
"""For a command's registration: what follows the client's name belongs to the client."""


class Mode(StrEnum):
    """How the proxy stands between client and server."""

    reverse = "reverse"
    forward = "forward"


CommandArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- CMD ...]",
        help="A client to run, pointed at the proxy. Without one the proxy runs until Ctrl-C.",
        show_default=False,
    ),
]
UpstreamOption = Annotated[
    str | None,
    typer.Option(
        "--upstream",
        metavar="URL",
        help="The server that requests go on to. Without it: what ANTHROPIC_BASE_URL and"
        " OPENAI_BASE_URL say, else the vendors' own.",
        show_default=False,
    ),
]
ModeOption = Annotated[
    Mode,
    typer.Option(
        "--mode",
        help="reverse: the client is given another base URL. forward: it keeps its own, and is"
        " given an HTTPS proxy and that proxy's CA.",
    ),
]
HostOption = Annotated[str, typer.Option("--host", help="The address to listen on.")]
PortOption = Annotated[
    int,
    typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 takes a free one."),
]


def planned(mode: Mode, upstream: str | None) -> "Plan":
    """Where the proxy is to stand, for a client of this process's environment.

    Raises:
        UsageError: a server's URL is none.
    """
    from cachediag.capture.recording import plan_forward, plan_reverse

    return (plan_reverse if mode is Mode.reverse else plan_forward)(os.environ, upstream)


def told_of(proxy: "Proxy", plan: "Plan", host: str, screen: Screen, *, recorded: bool) -> None:
    """Say where the proxy listens, and warn where others can reach it, or nothing is behind it."""
    from cachediag.capture.proxy import is_loopback

    for origin, url in proxy.urls.items():
        screen.say(f"{url.removeprefix('http://')} {screen.arrow} {plan.upstreams[origin]}")
        if origin and _is_silent(origin):
            screen.warn(
                f"nothing listens at {plan.upstreams[origin]} yet: start the server, or give its"
                " address with --upstream"
            )
    if not is_loopback(host):
        what = ", and what they send is recorded here" if recorded else ""
        screen.warn(
            f"WARNING: {host} can be reached from other machines. Whoever connects can use your"
            f" server{what}."
        )


def _is_silent(origin: str) -> bool:
    """Whether a server on this machine refuses connections; others are not asked."""
    address = urlsplit(origin)
    if address.hostname not in ("127.0.0.1", "::1", "localhost"):
        return False
    port = address.port or {"https": 443}.get(address.scheme, 80)
    try:
        socket.create_connection((address.hostname, port), timeout=0.5).close()
    except OSError as error:
        return isinstance(error, ConnectionRefusedError)
    return False


def until_the_end(
    command: Sequence[str] | None,
    proxy: "Proxy",
    plan: "Plan",
    screen: Screen,
    *,
    what: str,
    status: "Callable[[], RenderableType] | None" = None,
) -> int:
    """Run the client, or wait for Ctrl-C.

    Args:
        command: the client; None to wait.
        proxy: the proxy that is running.
        plan: where it stands.
        screen: held back while the client runs on a terminal.
        what: is ended by Ctrl-C.
        status: gives a line that is kept up to date meanwhile, where no client has the terminal.

    Returns:
        The exit code.

    Raises:
        CachediagError: the proxy has stopped, or the client cannot be started.
    """
    from cachediag.capture.client import run, wait_for_interrupt

    environment = plan.environment(proxy)
    if not command:
        screen.say("", *_exports(environment), "", f"Ctrl-C ends {what}")
        with screen.status(status):
            if not wait_for_interrupt(proxy.stopped):
                raise CachediagError("the proxy has stopped by itself")
        return 0
    # While a client has the terminal, its screen is its own.
    screen.hold(held=sys.stderr.isatty())
    try:
        return run(command, {**os.environ, **environment})
    finally:
        screen.hold(held=False)


def _exports(environment: Mapping[str, str]) -> Iterable[str]:
    """Give the lines that point a client in another terminal at the proxy."""
    from cachediag.capture.redact import safe_url

    shown = {name: safe_url(url) if "://" in url else url for name, url in environment.items()}
    for name, value in shown.items():
        yield f"export {name}={shlex.quote(value)}"
    if shown != environment:
        yield "# add the server's user and password, as USER:PASSWORD@ before 127.0.0.1"
