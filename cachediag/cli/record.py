"""`cachediag record`: a proxy before a model server, and a client that talks through it."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import err
from cachediag.cli.probing import probing
from cachediag.cli.proxy import (
    CONTEXT_SETTINGS,
    CommandArgument,
    HostOption,
    Mode,
    ModeOption,
    PortOption,
    UpstreamOption,
    planned,
    told_of,
    until_the_end,
)
from cachediag.cli.screen import Screen
from cachediag.cli.stripping import stripping
from cachediag.errors import CachediagError
from cachediag.model import PROMPT_ENDPOINTS, Exchange

if TYPE_CHECKING:
    from cachediag.analysis import Request, Walk

__all__ = ["CONTEXT_SETTINGS", "record"]


def record(  # noqa: PLR0917 - a parameter is an option
    command: CommandArgument = None,
    upstream: UpstreamOption = None,
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
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            metavar="FILE",
            help="Apply the rules of a file to requests on their way, and record both what the"
            " client sent and what went on.",
            show_default=False,
        ),
    ] = None,
    mode: ModeOption = Mode.reverse,
    host: HostOption = "127.0.0.1",
    port: PortOption = 0,
) -> None:
    """Record what a client and a model server say to each other.

    Without --rules the client's exchanges go on unchanged, streams piece by piece, whatever becomes
    of the recording. Credentials are not stored.

    \b
    Examples:
      cachediag record -- claude
      cachediag record --upstream http://127.0.0.1:8000 -- claude
      cachediag record --upstream http://127.0.0.1:8000 --port 9000
      cachediag record --rules rules.toml -o fixed.cachediag -- claude
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.capture.client import check_command
    from cachediag.capture.recording import recording

    plan = planned(mode, upstream)
    meta = {"mode": mode.value, "upstream": " ".join(plan.upstreams.values())}
    if command:
        check_command(command[0])
        meta["client"] = Path(command[0]).name
    screen = _Screen()
    changing = stripping(rules, screen) if rules else None
    addons = [changing.addon] if changing else []
    with (
        _session_file(output, meta, screen) as path,
        recording(
            path,
            plan,
            meta=meta,
            tell=screen.warn,
            stored=screen.stored,
            host=host,
            port=port,
            addons=addons,
        ) as going,
    ):
        screen.say(f"recording to {path if output else path.name}")
        told_of(going.proxy, plan, host, screen, recorded=True)
        with probing(path, upstream, screen.say):
            code = until_the_end(
                command,
                going.proxy,
                plan,
                screen,
                what="the recording",
                status=changing.line if changing else None,
            )
    if changing:
        screen.say("", changing.report())
    _summarise(path, screen, going.lost, mode, output)
    screen.leave(code)


class _Screen(Screen):
    """Shows the requests of a recording as they are stored."""

    def __init__(self) -> None:
        super().__init__()
        self._walk: Walk | None = None
        self.requests: list[Request] = []
        self.prompts = 0
        self.others = 0
        self.body_bytes = 0

    def begin(self, path: Path) -> None:
        """Learn what a session that is continued holds already."""
        from cachediag.analysis import Walk
        from cachediag.session import Outgoing, Session, sent_on

        def load(index: int) -> Exchange:
            with Session.open(path) as session:
                return sent_on(session.exchange(index))

        self._walk = Walk(load)
        with Session.open(path) as session:
            for exchange in Outgoing(session).exchanges():
                if exchange.info.endpoint != "other":
                    self._walk.step(exchange)

    def stored(self, exchange: Exchange) -> None:
        """Count an exchange, and show it, as it went on, if it carries a prompt."""
        from cachediag.report.session import request_line, requests_head
        from cachediag.session import sent_on

        bodies = (exchange.request, exchange.response, exchange.outgoing or b"")
        self.body_bytes += sum(map(len, bodies))
        if exchange.info.endpoint not in PROMPT_ENDPOINTS or self._walk is None:
            self.others += 1
            return
        if not self.prompts:
            self.say("", requests_head())
        self.prompts += 1
        request = self._walk.step(sent_on(exchange)).light()
        self.requests.append(request)
        self.say(request_line(request, err()))


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
        if _unanswered(screen):
            return
        screen.say(CausesReport(tuple(screen.requests), name))
        if not any(request.breaks for request in screen.requests):
            command, purpose = "diff", "see what changed between them"
            if screen.prompts == 1:
                command, purpose = "show", "what was sent"
            screen.say("", f"next   {f'cachediag {command} {name}'.rstrip()}   {purpose}")
    elif not lost:
        screen.say("no request to a model came by")
        if mode is Mode.reverse:
            screen.say(
                "",
                "next   cachediag record --mode forward -- CMD",
                "       for a client that reads none of the variables set for it",
            )


def _unanswered(screen: _Screen) -> bool:
    """Say so where no request had an answer; then there is nothing to say of prefixes."""
    failed = [request.info.error for request in screen.requests if request.info.status is None]
    if len(failed) < len(screen.requests):
        return False
    screen.say(
        f"No request was answered: {failed[0] or 'the client did not wait'}",
        "",
        "next   cachediag doctor --backend URL   see that the server runs, and where",
    )
    return True


def _bytes(count: int) -> str:
    for unit, size in (("MB", 1_000_000), ("KB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
