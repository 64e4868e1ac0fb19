"""How a session looks in a terminal: its requests, and the causes found in them."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag import findings as catalogue
from cachediag.analysis import Request
from cachediag.model import ExchangeInfo, Finding, Json
from cachediag.report.diff import FindingReport, title
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, commands, count, line, symbols

__all__ = [
    "CausesReport",
    "RequestsReport",
    "SessionReport",
    "SessionsReport",
    "Tally",
    "request_line",
    "requests_head",
    "seconds",
    "tally",
]


@dataclass(frozen=True, slots=True)
class Tally:
    """One cause over a whole session."""

    finding: Finding
    """As first seen."""
    first: int
    """The request in which it first showed."""
    parent: int
    """The request it was held against there."""
    requests: int
    """How many requests it broke."""


def tally(requests: Iterable[Request]) -> tuple[Tally, ...]:
    """The causes of a session, the most frequent first."""
    seen: dict[tuple[str, str | None], list[tuple[Finding, Request]]] = {}
    for request in requests:
        for found in request.breaks:
            seen.setdefault((found.code, found.path), []).append((found, request))
    rows = [_tally(places) for places in seen.values()]
    return tuple(sorted(rows, key=lambda row: (-row.requests, row.first)))


def _tally(places: Sequence[tuple[Finding, Request]]) -> Tally:
    found, request = places[0]
    parent = request.latest if found in request.from_latest else request.parent
    return Tally(found, request.info.index, parent if parent is not None else 0, len(places))


def requests_head() -> Text:
    """The heading of a list of requests."""
    return line(
        (
            f"{'#':>3}  {'lane':<9}  {'kind':<10}  {'TTFT':>7}  {'blocks':>6}  "
            f"{'shared':>6}  since its parent",
            DIM,
        )
    )


def request_line(request: Request, signs_from: Console | ConsoleOptions) -> Text:
    """One request in a list: what it is, what it shares, and what broke it."""
    info = request.info
    blocks, shared = request.blocks, request.shared_blocks
    return line(
        f"{info.index:>3}  {_fit(request.lane, 9)}  {_fit(request.kind, 10)}  "
        f"{seconds(info):>7}  {'' if blocks is None else blocks:>6}  "
        f"{'' if shared is None else f'{shared:,}':>6}  ",
        _verdict(request, signs_from),
    )


def seconds(info: ExchangeInfo) -> str:
    """The time to the first token; to the response's first byte where no token was seen."""
    first = info.first_token or info.first_byte
    if first is None or info.started is None:
        return ""
    return f"{max(0.0, first - info.started):.1f} s"


def _fit(text: str, width: int) -> str:
    text = printable(text)
    return f"{text[: width - 1]}…" if len(text) > width else f"{text:<{width}}"


def _verdict(request: Request, signs_from: Console | ConsoleOptions) -> Text:
    signs = symbols(signs_from)
    if request.problem is not None:
        return Text(f"! {printable(request.problem)}", "yellow")
    if request.info.error is not None:
        return Text(f"! {printable(request.info.error)}", "yellow")
    if request.info.status is not None and request.info.status >= 400:
        return Text(f"! HTTP {request.info.status}", "yellow")
    if request.breaks:
        codes = dict.fromkeys(found.code for found in request.breaks)
        named = ", ".join(f"{code} {title(code)}" for code in codes)
        return Text(f"{signs.bad} {named}", BAD)
    if request.kind == "count":
        return Text("counts tokens, prefills nothing", DIM)
    if any(found.code == "N03" for found in request.findings):
        return Text("first of its conversation", DIM)
    new = any(found.code == "N01" for found in request.findings)
    return Text("appended only" if new else "the same prompt", GOOD)


@dataclass(frozen=True, slots=True)
class RequestsReport:
    """Every request of a session, a line each."""

    requests: tuple[Request, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the heading and the lines."""
        yield requests_head()
        for request in self.requests:
            yield request_line(request, options)


@dataclass(frozen=True, slots=True)
class CausesReport:
    """What broke prefixes in a session, each cause once, with the next commands."""

    requests: tuple[Request, ...]
    session: str
    """How to name the session in the next command."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the causes."""
        rows = tally(self.requests)
        if not rows:
            yield line(("No request broke a prefix shared with an earlier one.", GOOD))
            return
        later = sum(r.shared_blocks is not None for r in self.requests)
        hit = sum(bool(r.breaks) for r in self.requests)
        yield line(
            f"{hit:,} of {count(later, 'later request')} broke a prefix shared with an earlier one."
        )
        yield Text()
        for row in rows:
            times = f"in {count(row.requests, 'request')}, first {row.parent} → {row.first}"
            yield FindingReport(row.finding, times.replace("→", symbols(options).arrow))
            yield Text()
        first = rows[0]
        given = f"{printable(self.session)} " if self.session else ""
        purposes = {
            f"cachediag diff {given}--pair {first.parent}:{first.first}": "the whole of that pair",
            f"cachediag explain {first.finding.code}": "what it is, and what to do",
            f"cachediag analyze {given}".rstrip(): "what it costs in tokens",
        }
        if any(catalogue.load(row.finding.code).rule for row in rows):
            purposes[f"cachediag rules new {given}-o rules.toml"] = "write the rule that removes it"
        yield from commands(purposes)


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What a session holds."""

    name: str
    infos: tuple[ExchangeInfo, ...]
    requests: tuple[Request, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the heading, the requests, and what else was seen."""
        lanes = len({request.lane for request in self.requests})
        size = sum(info.request_size for info in self.infos)
        yield line(
            (printable(self.name), "bold"),
            f"   {count(len(self.infos), 'exchange')}   "
            f"{count(lanes, 'lane')}   {size:,} bytes of bodies",
        )
        yield Text()
        yield RequestsReport(self.requests)
        others = [info for info in self.infos if info.endpoint == "other"]
        if others:
            places = dict.fromkeys(f"{info.method} {info.path}" for info in others)
            yield line(
                (f"and {count(len(others), 'other exchange')}: {printable(', '.join(places))}", DIM)
            )
        yield Text()
        given = printable(shlex.quote(self.name))
        yield from commands({f"cachediag diff {given}": "what broke the prefixes"})


@dataclass(frozen=True, slots=True)
class SessionsReport:
    """The recordings that were found, as `cachediag.sessions/1` rows."""

    rows: tuple[dict[str, Json], ...]
    directory: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield a line a recording."""
        if not self.rows:
            yield line(f"nothing recorded yet in {printable(self.directory)}")
            yield from commands({"cachediag record -- claude": ""})
            return
        yield line(
            (f"{'session':<24}  {'exchanges':>9}  {'body bytes':>12}  {'file bytes':>10}", DIM)
        )
        for row in self.rows:
            name = f"{printable(row['name']):<24}  "
            if row["problem"]:
                yield line(name, (f"! {printable(row['problem'])}", "yellow"))
            else:
                yield line(
                    f"{name}{row['exchanges']:>9,}  {row['body_bytes']:>12,}  "
                    f"{row['file_bytes']:>10,}"
                )
        yield Text()
        newest = printable(shlex.quote(self.rows[0]["name"]))
        yield from commands(
            {
                f"cachediag show {newest}": "its requests, a line each",
                f"cachediag diff {newest}": "what broke their prefixes",
            }
        )
