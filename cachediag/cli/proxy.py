"""What the commands share that put a proxy between a client and its server."""

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

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
    "PortOption",
    "UpstreamOption",
    "told_of",
    "until_the_end",
]

CONTEXT_SETTINGS = {"allow_interspersed_args": False}
"""For a command's registration: what follows the client's name belongs to the client."""

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
HostOption = Annotated[str, typer.Option("--host", help="The address to listen on.")]
PortOption = Annotated[
    int,
    typer.Option("--port", min=0, max=65535, help="The port to listen on; 0 takes a free one."),
]


def told_of(proxy: "Proxy", plan: "Plan", host: str, screen: Screen, *, recorded: bool) -> None:
    """Say where the proxy listens, and warn where others can reach it."""
    from cachediag.capture.proxy import is_loopback

    for origin, url in proxy.urls.items():
        screen.say(f"{url.removeprefix('http://')} {screen.arrow} {plan.upstreams[origin]}")
    if not is_loopback(host):
        what = ", and what they send is recorded here" if recorded else ""
        screen.warn(
            f"WARNING: {host} can be reached from other machines. Whoever connects can use your"
            f" server{what}."
        )


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
