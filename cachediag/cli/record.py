"""`cachediag record`: a proxy before a model server, and a client that talks through it."""

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from cachediag.cli.console import err
from cachediag.errors import CachediagError
from cachediag.model import Exchange
from cachediag.report.safe import printable

__all__ = ["CONTEXT_SETTINGS", "describe", "record"]

CONTEXT_SETTINGS = {"allow_interspersed_args": False}
"""For the command's registration: what follows the client's name belongs to the client."""

_PROMPTS = frozenset({"messages", "chat", "responses"})
_HEADING = f"{'#':>3}  {'kind':<9}  {'model':<28}  {'request':>8}  first token  status"


class Mode(StrEnum):
    """How the proxy stands between client and server."""

    reverse = "reverse"
    forward = "forward"


def record(  # noqa: PLR0917 - a parameter is an option
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- CMD ...]",
            help="A client to run, pointed at the proxy. Without one the proxy runs until Ctrl-C.",
            show_default=False,
        ),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The server that requests go on to. Without it: what ANTHROPIC_BASE_URL and"
            " OPENAI_BASE_URL say, else the vendors' own.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The session file; one that exists is continued. Without it: a new one, named"
            " after the time.",
            show_default=False,
        ),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            help="reverse: the client is given another base URL. forward: it keeps its own, and is"
            " given an HTTPS proxy and that proxy's CA.",
        ),
    ] = Mode.reverse,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")
    ] = 0,
) -> None:
    """Record what a client sends to a model server, and what comes back.

    The client's exchanges go on unchanged, streams piece by piece, whatever becomes of the
    recording. Credentials are not stored.
    """
    from cachediag.capture.client import check_command
    from cachediag.capture.recording import plan_forward, plan_reverse, recording

    plan = (plan_reverse if mode is Mode.reverse else plan_forward)(os.environ, upstream)
    meta = {"mode": mode.value, "upstream": " ".join(plan.upstreams.values())}
    if command:
        check_command(command[0])
        meta["client"] = Path(command[0]).name
    screen = _Screen()
    with (
        _session_file(output, meta, screen) as path,
        recording(
            path, plan, meta=meta, tell=screen.warn, stored=screen.stored, host=host, port=port
        ) as going,
    ):
        screen.say(f"recording to {path if output else path.name}")
        for origin, url in going.proxy.urls.items():
            screen.say(f"{url.removeprefix('http://')} {screen.arrow} {plan.upstreams[origin]}")
        _warn_of_address(host, screen)
        code = _until_the_end(command, plan.environment(going.proxy), going.proxy.stopped, screen)
    screen.say(*_summary(path, screen, going.lost, mode, output))
    raise typer.Exit(code)


def _until_the_end(
    command: Sequence[str] | None,
    environment: Mapping[str, str],
    stopped: Event,
    screen: "_Screen",
) -> int:
    """Run the client, or wait for Ctrl-C; give the exit code."""
    from cachediag.capture.client import run, wait_for_interrupt

    if not command:
        screen.say("", *_exports(environment), "", "Ctrl-C ends the recording")
        if not wait_for_interrupt(stopped):
            raise CachediagError("the proxy has stopped by itself")
        return 0
    # While a client has the terminal, its screen is its own.
    screen.hold(held=sys.stderr.isatty())
    try:
        return run(command, {**os.environ, **environment})
    finally:
        screen.hold(held=False)


def describe(exchange: Exchange) -> str:
    """Describe a request in the line that is shown as it comes.

    Args:
        exchange: as stored; its texts are untrusted.

    Returns:
        One line, not yet made safe to print.
    """
    info = exchange.info
    wait = "-"
    if info.started is not None and info.first_token is not None:
        wait = f"{info.first_token - info.started:.1f} s"
    columns = (
        f"{info.index:>3}",
        f"{info.endpoint:<9}",
        f"{(info.model or '-')[:28]:<28}",
        f"{_bytes(info.request_size):>8}",
        f"{wait:>11}",
        f"{info.status or '-':>6}",
        info.error or "",
    )
    return "  ".join(columns).rstrip()


class _Screen:
    """What is said on stderr, held back while the terminal is the client's."""

    def __init__(self) -> None:
        from cachediag.report.style import symbols

        self.arrow = symbols(err()).arrow
        self._waiting: list[str] | None = None
        self.prompts = 0
        self.others = 0
        self.body_bytes = 0

    def say(self, *lines: str) -> None:
        """Print lines, or keep them for later."""
        for line in map(printable, lines):
            if self._waiting is not None:
                self._waiting.append(line)
            else:
                _print(line)

    def hold(self, *, held: bool) -> None:
        """Begin or cease to keep lines for later."""
        waiting, self._waiting = self._waiting, [] if held else None
        self.say(*(waiting or ()))

    def warn(self, message: str) -> None:
        """Tell of something that does not stop the traffic."""
        self.say(f"cachediag: {message}")

    def stored(self, exchange: Exchange) -> None:
        """Count an exchange, and show it if it carries a prompt."""
        self.body_bytes += len(exchange.request) + len(exchange.response)
        if exchange.info.endpoint not in _PROMPTS:
            self.others += 1
            return
        if not self.prompts:
            self.say("", _HEADING)
        self.prompts += 1
        self.say(describe(exchange))


def _print(line: str) -> None:
    try:
        err().print(line, soft_wrap=True)
    except (OSError, SystemExit):
        # Nobody reads any more, for which rich would exit; the client is to go on. What is still
        # buffered must have a place to go as well, or the interpreter ends with an exit code of its
        # own.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stderr.fileno())
        os.close(null)


@contextmanager
def _session_file(output: Path | None, meta: Mapping[str, str], screen: _Screen) -> Iterator[Path]:
    """Make the session file, so that what is wrong with it is told before anything runs."""
    from cachediag.session import Session, new_path, register

    path = output or new_path(datetime.now(UTC))
    with Session.create(path, meta=meta) as session:
        others = session.recorders()
    if others:
        screen.warn(
            f"{path}: process {others[0].pid} is recording there as well; its requests and these"
            " will stand in one session"
        )
    # Being listed under its name is a convenience; recording goes on without it.
    with suppress(CachediagError):
        register(path)
    try:
        yield path
    finally:
        if not output and not screen.prompts:
            # An empty session would be the newest, which other commands take by default.
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)


def _warn_of_address(host: str, screen: _Screen) -> None:
    from cachediag.capture.proxy import is_loopback

    if not is_loopback(host):
        screen.warn(
            f"WARNING: {host} can be reached from other machines. Whoever connects can use your"
            " server, and what they send is recorded here."
        )


def _exports(environment: Mapping[str, str]) -> Iterable[str]:
    """Give the lines that point a client in another terminal at the proxy."""
    from cachediag.capture.redact import safe_url

    shown = {name: safe_url(url) if "://" in url else url for name, url in environment.items()}
    for name, value in shown.items():
        yield f"export {name}={shlex.quote(value)}"
    if shown != environment:
        yield "# add the server's user and password, as USER:PASSWORD@ before 127.0.0.1"


def _summary(
    path: Path, screen: _Screen, lost: int, mode: Mode, output: Path | None
) -> Iterable[str]:
    from cachediag.report.style import count

    yield ""
    if lost:
        yield f"{count(lost, 'exchange')} passed unrecorded"
    if screen.prompts:
        size = path.stat().st_size if path.exists() else 0
        others = f" (and {screen.others} of other kinds)" if screen.others else ""
        bodies = f"{_bytes(screen.body_bytes)} of bodies in a {_bytes(size)} file"
        yield f"{count(screen.prompts, 'request')}{others}, {bodies}"
        name = f" {shlex.quote(str(output))}" if output else ""
        yield ""
        yield f"next   cachediag diff{name}   see what changed between them"
    elif not lost:
        yield "no request to a model came by"
        if mode is Mode.reverse:
            yield ""
            yield "next   cachediag record --mode forward -- CMD"
            yield "       for a client that reads none of the variables set for it"


def _bytes(count: int) -> str:
    for unit, size in (("MB", 1_000_000), ("KB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
