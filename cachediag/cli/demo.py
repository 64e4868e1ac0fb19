"""`cachediag demo`: record, show and diff a made-up session, to see what the rest is good for."""

from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import err, out, plain, say, write
from cachediag.cli.options import Format, FormatOption
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cachediag.demo.live.steps import LiveDemo
    from cachediag.model import Exchange

__all__ = ["demo"]


class _Client(StrEnum):
    """Who talks to the engine."""

    made_up = "made-up"
    claude = "claude"


def demo(  # noqa: PLR0917 - a parameter is an option
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="On a real vllm-mlx with a tiny model, installed once (400 MB): record, find the"
            " cause, write the rule, patch, and measure what each is worth.",
        ),
    ] = False,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="X.Y.Z",
            help="With --live: the release of vllm-mlx; its own removal of the billing header is"
            " turned off. 0.3.0 by default.",
            show_default=False,
        ),
    ] = None,
    client: Annotated[
        _Client | None,
        typer.Option(
            help="With --live: the made-up client, or the real Claude Code, installed from npm"
            " (236 MB). It plays a script and reaches no vendor.",
            show_default=False,
        ),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="With --live: how long tools and system prompt of the made-up client are at least."
            " 12000 by default.",
            show_default=False,
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100,
            help="With --live: how often each arm is run. 2 by default.",
            show_default=False,
        ),
    ] = None,
    format_: FormatOption = Format.text,
) -> None:
    """Record a made-up session, and show what broke its prefixes.

    A made-up client talks through the real proxy to a made-up model server, all of them on this
    machine. The session is kept as `demo`, in place of an earlier one.

    With --live the server is a real one, and the demo goes on to what each fix is worth on it: a
    table of four arms. Its session is kept as `demo-live`.

    \b
    Examples:
      cachediag demo                        seconds, no network
      cachediag demo --live                 about ten minutes, 400 MB
      cachediag demo --live --release 0.6.0 --repeats 3
    """  # noqa: D301 - the backspace keeps the lines below as they are
    given = {"--release": release, "--client": client, "--tokens": tokens, "--repeats": repeats}
    if not live:
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name} needs --live", remedy="Write: cachediag demo --live")
        _made_up(format_)
        return
    if client is _Client.claude and tokens is not None:
        raise UsageError("--tokens has no effect on Claude Code, whose prompts are its own")
    from cachediag.demo.live.steps import LiveDemo

    usual = LiveDemo()
    asked = LiveDemo(
        release=release or usual.release,
        client="claude" if client is _Client.claude else "made-up",
        tokens=usual.tokens if tokens is None else tokens,
        repeats=repeats or usual.repeats,
    )
    _live(asked, format_)


def _made_up(format_: Format) -> None:
    from cachediag.analysis import requests
    from cachediag.demo.outcome import INTRODUCTION, OutcomeReport, document
    from cachediag.demo.recorded import record
    from cachediag.report import documents
    from cachediag.report.style import Paragraph
    from cachediag.session import Session

    if format_ is Format.text:
        out().print(Paragraph(INTRODUCTION))
    path = record(say).path
    name = _name(path)
    with Session.open(path) as session:
        found = tuple(requests(session.exchanges(), session.exchange))
    if format_ is Format.json:
        write(documents.dumps(document(name, found)))
    else:
        out().print()
        out().print(OutcomeReport(name, found))


def _live(asked: "LiveDemo", format_: Format) -> None:
    from cachediag.backends.sandbox import MODEL_SPEC, Sandbox
    from cachediag.cli.verify import end, showing
    from cachediag.demo.live.found import find
    from cachediag.demo.live.outcome import EndReport, FoundReport, document, introduction
    from cachediag.demo.live.recorded import Told
    from cachediag.demo.live.steps import measure, record
    from cachediag.report import documents
    from cachediag.report.style import Paragraph
    from cachediag.report.verify import VerifyReport
    from cachediag.report.verify_documents import verified

    choice = asked.choice()
    err().print(Paragraph(introduction(asked)))
    with _steps() as tell:
        sandbox = Sandbox(tell=tell)
        path = record(asked, sandbox, choice, Told(tell, lambda each: tell(_stored(each))))
        tell("looking for what breaks prefixes, and writing rules")
        found = find(path, choice, MODEL_SPEC)
    if format_ is Format.text:
        out().print()
        out().print(FoundReport(found))
        out().print()
    with showing() as progress:
        outcome = measure(asked, found, Sandbox(tell=_tell_steps), progress)
    made, experiment = outcome.verdict, outcome.experiment
    if format_ is Format.json:
        of_verify = verified(made, experiment, outcome.ready, session=found.source.name, rules=None)
        write(documents.dumps(document(of_verify, found, asked.client)))
    else:
        out().print(VerifyReport(made, experiment, outcome.ready.place.name))
        out().print()
        out().print(EndReport(_name(path), asked, sandbox.root))
    end(experiment, made)


@contextmanager
def _steps() -> "Iterator[Callable[[str], None]]":
    """Tell what is done, a line each; what is told again and again in one line, on a terminal."""
    with err().status("") as status:

        def tell(message: str) -> None:
            if message.startswith("waiting"):
                status.update(plain(message))
            else:
                say(message)
                status.update("")

        yield tell


def _tell_steps(message: str) -> None:
    """Tell what is done, but not how long it is waited for."""
    if not message.startswith("waiting"):
        say(message)


def _stored(exchange: "Exchange") -> str:
    from cachediag.report.session import seconds

    info = exchange.info
    if info.endpoint != "messages":
        return f"request {info.index}: {info.method} {info.path}"
    return f"request {info.index}: {info.request_size:,} bytes, first token after {seconds(info)}"


def _name(path: "Path") -> str:
    """How to name the session in a command: a file in the current directory comes before it."""
    from shlex import quote

    from cachediag.session import library

    for name in (path.stem, path.name):
        if library.resolve(name) == path.resolve():
            return name
    return quote(str(path))
