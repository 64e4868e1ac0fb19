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
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import err
from cachediag.errors import CachediagError
from cachediag.model import Exchange
from cachediag.report.safe import printable

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable

    from cachediag.analysis import Request, Walk

__all__ = ["CONTEXT_SETTINGS", "record"]

CONTEXT_SETTINGS = {"allow_interspersed_args": False}
"""For the command's registration: what follows the client's name belongs to the client."""

_PROMPTS = frozenset({"messages", "chat", "responses"})


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
    _summarise(path, screen, going.lost, mode, output)
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


class _Screen:
    """What is said on stderr, held back while the terminal is the client's."""

    def __init__(self) -> None:
        from cachediag.report.style import symbols

        self.arrow = symbols(err()).arrow
        self._waiting: list[str | ConsoleRenderable] | None = None
        self._walk: Walk | None = None
        self.requests: list[Request] = []
        self.prompts = 0
        self.others = 0
        self.body_bytes = 0

    def begin(self, path: Path) -> None:
        """Learn what a session that is continued holds already."""
        from cachediag.analysis import Walk
        from cachediag.session import Session

        def load(index: int) -> Exchange:
            with Session.open(path) as session:
                return session.exchange(index)

        self._walk = Walk(load)
        with Session.open(path) as session:
            for exchange in session.exchanges():
                if exchange.info.endpoint != "other":
                    self._walk.step(exchange)

    def say(self, *lines: "str | ConsoleRenderable") -> None:
        """Print lines, or keep them for later; a renderable has been made safe already."""
        for line in lines:
            safe = printable(line) if isinstance(line, str) else line
            if self._waiting is not None:
                self._waiting.append(safe)
            else:
                _print(safe)

    def hold(self, *, held: bool) -> None:
        """Begin or cease to keep lines for later."""
        waiting, self._waiting = self._waiting, [] if held else None
        self.say(*(waiting or ()))

    def warn(self, message: str) -> None:
        """Tell of something that does not stop the traffic."""
        self.say(f"cachediag: {message}")

    def stored(self, exchange: Exchange) -> None:
        """Count an exchange, and show it if it carries a prompt."""
        from cachediag.report.session import request_line, requests_head

        self.body_bytes += len(exchange.request) + len(exchange.response)
        if exchange.info.endpoint not in _PROMPTS or self._walk is None:
            self.others += 1
            return
        if not self.prompts:
            self.say("", requests_head())
        self.prompts += 1
        request = self._walk.step(exchange).light()
        self.requests.append(request)
        self.say(request_line(request, err()))


def _print(line: "str | ConsoleRenderable") -> None:
    try:
        err().print(line, soft_wrap=isinstance(line, str))
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
    screen.begin(path)
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


def _summarise(path: Path, screen: _Screen, lost: int, mode: Mode, output: Path | None) -> None:
    from cachediag.report.session import CausesReport
    from cachediag.report.style import count

    screen.say("")
    if lost:
        screen.say(f"{count(lost, 'exchange')} passed unrecorded")
    if screen.prompts:
        size = path.stat().st_size if path.exists() else 0
        lanes = count(len({request.lane for request in screen.requests}), "lane")
        others = f" (and {screen.others} of other kinds)" if screen.others else ""
        bodies = f"{_bytes(screen.body_bytes)} of bodies in a {_bytes(size)} file"
        screen.say(f"{count(screen.prompts, 'request')}{others}, {lanes}, {bodies}")
        name = shlex.quote(str(output)) if output else ""
        screen.say(CausesReport(tuple(screen.requests), name))
        if not any(request.breaks for request in screen.requests):
            command = f"cachediag diff {name}".rstrip()
            screen.say("", f"next   {command}   see what changed between them")
    elif not lost:
        screen.say("no request to a model came by")
        if mode is Mode.reverse:
            screen.say(
                "",
                "next   cachediag record --mode forward -- CMD",
                "       for a client that reads none of the variables set for it",
            )


def _bytes(count: int) -> str:
    for unit, size in (("MB", 1_000_000), ("KB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
