"""How it looks, and how it is written down, what rules have changed."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.fix.tally import Tally
from cachediag.model import Json
from cachediag.report import documents
from cachediag.report.safe import printable
from cachediag.report.style import DIM, GOOD, commands, count, line
from cachediag.rules.rule import RuleSet

__all__ = ["AppliedReport", "TallyLine", "TallyReport", "document"]


@dataclass(frozen=True, slots=True)
class TallyLine:
    """What rules have changed so far, in one line."""

    tally: Tally

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the line."""
        said = "".join(
            f"   {printable(rule.rule)} {rule.requests:,}, {count(rule.bytes, 'byte')}"
            for rule in self.tally.rules
            if rule.requests
        )
        yield line((_changed(self.tally), GOOD), (said, DIM))


@dataclass(frozen=True, slots=True)
class TallyReport:
    """What each rule has changed."""

    tally: Tally

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the sum, and a line a rule."""
        yield line((_changed(self.tally), GOOD))
        rules = self.tally.rules
        width = max((len(printable(rule.rule)) for rule in rules), default=0)
        for rule in rules:
            yield line(
                f"  {printable(rule.rule):<{width}}   {count(rule.requests, 'request'):>14}   ",
                f"{count(rule.bytes, 'byte'):>14}",
            )


@dataclass(frozen=True, slots=True)
class AppliedReport:
    """What rules have changed in a session, and what to do next."""

    session: str
    tally: Tally
    written: str | None
    """The new session; None where nothing was written."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the session, what was changed, and the next command."""
        requests = count(self.tally.requests, "request")
        yield line((printable(self.session), "bold"), f"   {requests}")
        yield TallyReport(self.tally)
        yield Text()
        if self.written is None:
            yield line(("nothing was written", DIM))
        else:
            given = printable(shlex.quote(self.written))
            yield from commands({f"cachediag analyze {given}": "what it costs now"})


def _changed(tally: Tally) -> str:
    return f"{tally.changed:,} of {count(tally.requests, 'request')} changed by rules"


def document(
    session: str,
    file: Path,
    *,
    rules: RuleSet,
    tally: Tally,
    written: Path | None,
    notes: Sequence[str],
) -> dict[str, Json]:
    """`cachediag.fix/1`: what rules change in a session.

    Args:
        session: its name.
        file: the rule file.
        rules: what it holds.
        tally: what they changed.
        written: the new session; None where nothing was written.
        notes: what could not be done.
    """
    counts = {each.rule: each for each in tally.rules}
    return {
        "schema": "cachediag.fix/1",
        "session": session,
        "rule_file": str(file),
        "written": None if written is None else str(written),
        "requests": tally.requests,
        "changed_requests": tally.changed,
        "changed_bytes": tally.bytes,
        "rules": [
            documents.named_rule(rule)
            | {
                "requests": counts[rule.id].requests if rule.id in counts else 0,
                "bytes": counts[rule.id].bytes if rule.id in counts else 0,
            }
            for rule in rules.rules
        ],
        "notes": list(notes),
    }
