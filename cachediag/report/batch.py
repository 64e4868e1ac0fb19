"""How many sessions look in a terminal: the sums, the ranked causes, the worst, what failed."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.filesize import decimal
from rich.text import Text

from cachediag.batch.summary import Cause, Summary
from cachediag.report.analysis import dollars, lost, reuse
from cachediag.report.diff import title
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, Paragraph, commands, count, line

__all__ = ["BatchReport"]

_CAUSES = 10
_WORST = 5
_FAILED = 20
_REMEDIES = 3
_WIDTH = 32
_DESIGN = "what engines do not keep"


@dataclass(frozen=True, slots=True)
class BatchReport:
    """Many sessions as a whole."""

    summary: Summary
    rows: str = ""
    """Where a row a request was written; empty where none were."""
    options: str = ""
    """What picks backend and tokenizer in the next command."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        if not self.summary.totals.sessions:
            yield from self._failed()
            return
        totals = self.summary.totals
        yield line(
            (count(totals.sessions, "session"), "bold"),
            f"   {count(totals.requests, 'request')}   {decimal(totals.body_bytes)} of bodies   "
            f"{'exact' if totals.exact else 'estimate'}",
        )
        for basis in self.summary.bases:
            of_them = f"   {count(basis.sessions, 'session')}"
            yield line(
                (
                    f"profile {basis.profile}   tokens {printable(basis.model)}   "
                    f"cache {basis.engine}{of_them if len(self.summary.bases) > 1 else ''}",
                    DIM,
                )
            )
        yield Text()
        yield from reuse(totals)
        yield Text()
        yield from self._causes()
        yield from self._worst()
        yield from self._failed()
        yield from self._conclusion()

    def _causes(self) -> Iterator[Text]:
        causes = self.summary.causes
        if not causes:
            return
        head = f"{'causes':<{_WIDTH}}  {'sessions':>8}  {'requests':>9}  {'tokens again':>14}"
        paid = self.summary.totals.usd is not None
        yield line((f"{head}  {'more USD':>9}" if paid else head, DIM))
        for cause in causes[:_CAUSES]:
            row = (
                f"{_cut(_named(cause))}  {cause.sessions:>8,}  "
                f"{cause.requests:>9,}  {cause.tokens_lost:>14,}"
            )
            usd = "unknown" if cause.usd is None else dollars(cause.usd)
            yield line(f"{row}  {usd:>9}" if paid else row)
        if len(causes) > _CAUSES:
            yield line((f"and {len(causes) - _CAUSES} more, in --format json", DIM))
        yield Text()

    def _worst(self) -> Iterator[Text]:
        worst = [each for each in self.summary.worst[:_WORST] if each.avoidable_tokens]
        if self.summary.totals.sessions < 2 or not worst:
            return
        head = f"{'costliest sessions':<{_WIDTH}}  {'requests':>8}  hit rate  could be"
        yield line((f"{head}  {'tokens again':>12}", DIM))
        for each in worst:
            yield line(
                f"{_cut(printable(each.label), end=True)}  {each.requests:>8,}  "
                f"{each.hit_rate:>8.1%}  {each.hit_rate_ceiling:>8.1%}  "
                f"{each.avoidable_tokens:>12,}"
            )
        yield Text()

    def _failed(self) -> Iterator[Text]:
        failed, totals = self.summary.failed, self.summary.totals
        if self.summary.notes:
            yield line(f"{count(self.summary.notes, 'session')} could be read in part only")
        if totals.uncounted:
            yield line(f"{count(totals.uncounted, 'request')} could not be counted")
        if failed:
            every = len(failed) + totals.sessions
            yield line((f"{len(failed)} of {count(every, 'session')} could not be analysed", BAD))
            for each in failed[:_FAILED]:
                # What is wrong is no use when its end is cut off.
                yield Text(f"  {printable(each.label)}: {printable(each.reason)}")
                if each.remedy and len(failed) <= _REMEDIES:
                    yield Text(f"    {printable(each.remedy)}", DIM)
            if len(failed) > _FAILED:
                yield line((f"  and {len(failed) - _FAILED} more, in --format json", DIM))
        if failed or totals.uncounted or self.summary.notes:
            yield Text()

    def _conclusion(self) -> Iterator[Text | Paragraph]:
        totals = self.summary.totals
        some = "" if totals.timed_sessions == totals.sessions else "at least "
        yield lost(totals, totals.avoidable_seconds, some)
        if self.rows:
            yield Paragraph(f"A row a request is in {printable(self.rows)}.")
        if totals.avoidable_tokens:
            yield Text()
            yield from commands(self._next())

    def _next(self) -> dict[str, str]:
        worst = self.summary.worst[0]
        options = f" {printable(self.options)}" if self.options else ""
        shown = {}
        if "://" not in worst.label:
            named = shlex.quote(printable(worst.label))
            shown[f"cachediag analyze {named}{options}"] = "the costliest, request by request"
        code = self.summary.causes[0].code
        if code != "-":
            shown[f"cachediag explain {code}"] = "what it is, and what to do"
        return shown or {"cachediag analyze SESSION": "one of them, request by request"}


def _named(cause: Cause) -> str:
    if cause.code == "-":
        return _DESIGN
    return f"{cause.code} {title(cause.code)}  {printable(cause.path or '')}"


def _cut(text: str, *, end: bool = False) -> str:
    """A text of the first column's width; of a path the end tells more."""
    if len(text) > _WIDTH:
        text = f"…{text[1 - _WIDTH :]}" if end else f"{text[: _WIDTH - 1]}…"
    return f"{text:<{_WIDTH}}"
