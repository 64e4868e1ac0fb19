"""`cachediag diff`: what changed between two requests, or through a whole session."""

from typing import TYPE_CHECKING, Annotated

import typer

from cachediag.cli.console import out, write
from cachediag.cli.options import Format, FormatOption, ProfileOption, chosen_profile, source
from cachediag.errors import UsageError

if TYPE_CHECKING:
    from cachediag.compare import Comparison
    from cachediag.render import Profile
    from cachediag.session.source import Source

__all__ = ["diff"]


def diff(
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SESSION | A B",
            help="A session, or the files of two requests; default: the newest recording.",
            show_default=False,
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option("--pair", metavar="A:B", help="Two requests of the session, such as 4:5."),
    ] = None,
    profile: ProfileOption = None,
    format_: FormatOption = Format.text,
) -> None:
    """Show what changed between requests, and what broke their shared prefix.

    Without --pair every request is held against its parent, the earlier request with the longest
    shared prefix.

    Examples:
      cachediag diff                        the newest recording
      cachediag diff --pair 4:5             two of its requests
      cachediag diff before.json after.json two bodies
    """
    files = given or []
    if len(files) > 2:
        raise UsageError(
            f"{len(files)} files given", remedy="Give a session, or the files of two requests."
        )
    chosen = chosen_profile(profile)
    if len(files) == 2:
        _print_pair(_of_files(files[0], files[1], chosen), _files_heading(*files), format_)
        return
    session = source(files[0] if files else None)
    if pair is not None:
        a, b = _numbers(pair)
        _print_pair(_of_pair(session, a, b, chosen), f"request {a} → {b}", format_)
        return
    _print_session(session, files[0] if files else "", chosen, format_)


def _numbers(pair: str) -> tuple[int, int]:
    a, colon, b = pair.partition(":")
    if not (colon and a.isdigit() and b.isdigit()):
        raise UsageError(
            f"{pair!r} is no pair", where="--pair", remedy="Write two request numbers: --pair 4:5"
        )
    return int(a), int(b)


def _of_files(a: str, b: str, profile: "Profile | None") -> "Comparison":
    from cachediag.capture.importers import open_bodies
    from cachediag.compare import compare
    from cachediag.protocol import parse

    first, second = (
        parse(exchange.request, exchange.info.endpoint)
        for exchange in open_bodies((a, b)).exchanges()
    )
    return compare(first, second, profile)


def _files_heading(a: str, b: str) -> str:
    return f"{a} → {b}"


def _of_pair(session: "Source", a: int, b: int, profile: "Profile | None") -> "Comparison":
    from cachediag.compare import compare
    from cachediag.protocol import parse

    first, second = (session.exchange(index) for index in (a, b))
    return compare(
        parse(first.request, first.info.endpoint),
        parse(second.request, second.info.endpoint),
        profile,
    )


def _print_pair(comparison: "Comparison", heading: str, format_: Format) -> None:
    from cachediag.report import documents
    from cachediag.report.diff import DiffReport

    if format_ is Format.json:
        write(documents.dumps(documents.diff(comparison)))
    else:
        out().print(DiffReport(comparison, heading))


def _print_session(
    session: "Source", given: str, profile: "Profile | None", format_: Format
) -> None:
    from cachediag.analysis import requests
    from cachediag.report import documents
    from cachediag.report.session import CausesReport, RequestsReport
    from cachediag.report.style import count, line

    walked = requests(session.exchanges(), session.exchange, profile)
    if format_ is Format.json:
        write(documents.dumps(documents.diffs(session.name, walked)))
        return
    found = tuple(request.light() for request in walked)
    lanes = len({request.lane for request in found})
    console = out()
    heading = f"{session.name}   {count(len(found), 'request')}   {count(lanes, 'lane')}"
    console.print(line((heading, "bold")))
    console.print()
    console.print(RequestsReport(found))
    console.print()
    console.print(CausesReport(found, given))
