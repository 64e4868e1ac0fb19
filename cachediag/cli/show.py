"""`cachediag show`: the requests of a session, or one of them whole."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import out, write
from cachediag.cli.options import Format, FormatOption, IncomingOption, source
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from cachediag.session.source import Source

__all__ = ["show"]


def show(  # noqa: PLR0917 - a parameter is an option
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION] N",
            help="A session, by default the newest recording; and the number of one request.",
            show_default=False,
            autocompletion=completing.sessions,
        ),
    ] = None,
    body: Annotated[
        bool,
        typer.Option(
            "--body", help="Write request N's raw bytes, as the client sent them, to stdout."
        ),
    ] = False,
    outgoing: Annotated[
        bool, typer.Option("--outgoing", help="With --body: as they went on to the server.")
    ] = False,
    response: Annotated[
        bool, typer.Option("--response", help="Write response N's raw bytes to stdout.")
    ] = False,
    incoming: IncomingOption = False,
    format_: FormatOption = Format.text,
) -> None:
    """Show what a session holds.

    \b
    Examples:
      cachediag show                    the newest recording's requests
      cachediag show 4                  its request 4, block by block
      cachediag show SESSION 4 --body   its bytes, as the client sent them
    """  # noqa: D301 - the backspace keeps the lines below as they are
    from cachediag.session import sent_on

    name, number = _session_and_number(given or [])
    if outgoing and (incoming or not body):
        raise UsageError(
            "--outgoing goes with --body, and not with --incoming",
            remedy="Without --body what went on to the server is shown anyway.",
        )
    if body or response:
        if number is None:
            raise UsageError(
                "--body needs a request's number", remedy="Such as: cachediag show SESSION 4 --body"
            )
        exchange = source(name, incoming=True).exchange(number)
        if outgoing:
            exchange = sent_on(exchange)
        _bytes(exchange.request if body else exchange.response)
        return
    session = source(name, incoming=incoming)
    if number is None:
        _list(session, format_)
    else:
        _one(session, number, format_, name or "", incoming=incoming)


def _bytes(data: bytes) -> None:
    """Write captured bytes; to a terminal, which they could act on, as text that is made safe."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        return
    from cachediag.report.safe import printable

    lines = data.decode("utf-8", "backslashreplace").split("\n")
    write("\n".join(map(printable, lines)))


def _session_and_number(given: list[str]) -> tuple[str | None, int | None]:
    if len(given) > 2:
        raise UsageError("too many arguments", remedy="Such as: cachediag show SESSION 4")
    if given and given[-1].isdigit():
        return (given[0] if len(given) == 2 else None), int(given[-1])
    if len(given) == 2:
        raise UsageError(
            "no request number", where=given[1], remedy="Such as: cachediag show SESSION 4"
        )
    return (given[0] if given else None), None


def _list(session: "Source", format_: Format) -> None:
    from cachediag.analysis import requests
    from cachediag.report import documents
    from cachediag.report.session import SessionReport

    walked = requests(session.exchanges(), session.exchange)
    found = tuple(request.light() for request in walked)
    infos = tuple(session.infos())
    if format_ is Format.json:
        write(documents.dumps(documents.session(session.name, infos, found)))
    else:
        out().print(SessionReport(session.name, infos, found))


def _one(session: "Source", number: int, format_: Format, given: str, *, incoming: bool) -> None:
    from cachediag.protocol import parse
    from cachediag.report import documents
    from cachediag.report.exchange import ExchangeReport

    exchange = session.exchange(number)
    prompt = None
    if exchange.info.endpoint != "other":
        prompt = parse(exchange.request, exchange.info.endpoint)
    if format_ is Format.json:
        write(documents.dumps(documents.exchange(exchange.info, prompt)))
    else:
        out().print(ExchangeReport(exchange.info, prompt, given, incoming=incoming))
