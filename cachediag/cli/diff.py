"""`cachediag diff`: what changed between two requests, or through a whole session."""

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli import completing
from cachediag.cli.console import in_one_line, out, write
from cachediag.cli.options import (
    Format,
    FormatOption,
    IncomingOption,
    ModelOption,
    ProfileOption,
    chosen,
    counting_for,
    source,
)
from cachediag.collecting import collect_seldom
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from cachediag.analysis.tokenview import Counter
    from cachediag.model import Exchange
    from cachediag.session.source import Source

__all__ = ["diff"]


def diff(  # noqa: PLR0917 - a parameter is an option
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SESSION | A B",
            help="A session, or the files of two requests; default: the newest recording.",
            show_default=False,
            autocompletion=completing.sessions,
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option("--pair", metavar="A:B", help="Two requests of the session, such as 4:5."),
    ] = None,
    profile: ProfileOption = None,
    model: ModelOption = None,
    incoming: IncomingOption = False,
    format_: FormatOption = Format.text,
) -> None:
    """Show what changed between requests and broke their prefix.

    Without --pair every request is held against its parent, the earlier request with the longest
    shared prefix.

    \b
    Examples:
      cachediag diff                          the newest recording
      cachediag diff --pair 4:5               two of its requests
      cachediag diff before.json after.json   two bodies
    """  # noqa: D301 - the backspace keeps the lines below as they are
    files = given or []
    if len(files) > 2:
        raise UsageError(
            f"{len(files)} files given", remedy="Give a session, or the files of two requests."
        )
    if len(files) == 2:
        from cachediag.capture.importers import open_bodies

        pairs = list(open_bodies((files[0], files[1])).exchanges())
        _print_pair(pairs[0], pairs[1], profile, model, f"{files[0]} → {files[1]}", format_)
        return
    collect_seldom()
    session = source(files[0] if files else None, incoming=incoming)
    profile = chosen(session, profile)[0]
    if pair is not None:
        a, b = _numbers(pair)
        heading = f"request {a} → {b}"
        _print_pair(session.exchange(a), session.exchange(b), profile, model, heading, format_)
        return
    counter = counting_for(session, profile, model).counter
    named = shlex.join([*files, *(["--incoming"] if incoming else [])])
    _print_session(session, named, counter, format_)


def _numbers(pair: str) -> tuple[int, int]:
    a, colon, b = pair.partition(":")
    if not (colon and a.isdigit() and b.isdigit()):
        raise UsageError(
            f"{pair!r} is no pair", where="--pair", remedy="Write two request numbers: --pair 4:5"
        )
    return int(a), int(b)


def _print_pair(  # noqa: PLR0917
    a: "Exchange",
    b: "Exchange",
    profile: str | None,
    model: str | None,
    heading: str,
    format_: Format,
) -> None:
    from cachediag.analysis.calibration import Calibration, scaled_view
    from cachediag.analysis.counting import counting
    from cachediag.analysis.seams import pair_seam
    from cachediag.analysis.tokenview import counted, token_view
    from cachediag.compare import compare
    from cachediag.report import documents
    from cachediag.report.diff import DiffReport

    counter = counting(b.info.endpoint, profile, model).counter
    first, second = (counter.parser.parse(x.request, x.info.endpoint) for x in (a, b))
    comparison = compare(first, second, counter.profile)
    view = token_view(comparison, counter)
    calibration = Calibration(counter.encoder.tokenizer)
    for exchange, tokens in ((a, view.a), (b, view.b)):
        calibration.add("", exchange.info, tokens)
    view = scaled_view(view, calibration.factor("", second.model))
    usages = calibration.usages
    comparison = counted(comparison, view)
    if seam := pair_seam(comparison, view, counter):
        comparison = replace(comparison, findings=(seam.finding, *comparison.findings))
    if format_ is Format.json:
        write(documents.dumps(documents.diff(comparison, view, calibrated_usages=usages)))
    else:
        out().print(DiffReport(comparison, heading, view, usages))


def _print_session(session: "Source", given: str, counter: "Counter", format_: Format) -> None:
    from cachediag.analysis import Walk
    from cachediag.analysis.calibration import Calibration
    from cachediag.report import documents
    from cachediag.report.safe import printable
    from cachediag.report.session import CausesReport, RequestsReport
    from cachediag.report.style import count, line

    walk = Walk(session.exchange, counter.profile, counter.parser)
    exchanges = (each for each in session.exchanges() if each.info.endpoint != "other")
    if format_ is Format.json:
        calibration = Calibration(counter.encoder.tokenizer)
        pairs = (documents.pair(walk.step(each), counter, calibration) for each in exchanges)
        write(documents.dumps(documents.diffs(session.name, pairs)))
        return
    found = tuple(walk.step(each).light() for each in exchanges)
    lanes = len({request.lane for request in found})
    console = out()
    counted = f"{count(len(found), 'request')}   {count(lanes, 'lane')}"
    console.print(in_one_line(line((f"{printable(session.name)}   {counted}", "bold"))))
    console.print()
    console.print(RequestsReport(found))
    console.print()
    console.print(CausesReport(found, given))
