"""How the rules that were made from a session are told of."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.findings import load
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, Paragraph, commands, count, line
from cachediag.rules.generate import Generated
from cachediag.rules.rule import Rule

__all__ = ["NewRulesReport"]


@dataclass(frozen=True, slots=True)
class NewRulesReport:
    """What was made, and what to do next."""

    generated: Generated
    session: str
    given: str
    """How to name the session in the next command; empty for the newest."""
    file: str | None
    """The rule file; None where it was printed."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        rules = self.generated.ruleset.rules
        if not self.generated.requests:
            what = f"No prefix of {printable(self.session)} is broken: no rule is needed."
            yield Paragraph(what, GOOD)
            yield from (Paragraph(printable(each), DIM) for each in self.generated.remarks)
            return
        yield Text(self._answer(), "" if rules else BAD, overflow="fold")
        yield from _table(rules)
        if self.generated.remarks:
            yield Text()
        for remark in self.generated.remarks:
            yield Paragraph(printable(remark), DIM)
        yield Text()
        yield from commands(self._next())

    def _answer(self) -> str:
        rules, enabled = self.generated.ruleset.rules, len(self.generated.ruleset.enabled)
        broken = f"for the prefixes broken in {count(self.generated.requests, 'request')}"
        if not rules:
            return f"no rule {broken}"
        if len(rules) == 1:
            state = "enabled" if enabled else "not enabled"
        else:
            state = f"{'all' if enabled == len(rules) else enabled or 'none'} enabled"
        where = f" in {printable(self.file)}" if self.file else ""
        return f"{count(len(rules), 'rule')}{where}, {state}, {broken}"

    def _next(self) -> dict[str, str]:
        given = printable(self.given)
        if not self.generated.ruleset.rules:
            return {f"cachediag diff {given}".rstrip(): "see what broke them"}
        file = printable(shlex.quote(self.file or "rules.toml"))
        words = ("cachediag rules check", given, file)
        return {" ".join(filter(None, words)): "what they save, and whether they are safe"}


def _table(rules: Sequence[Rule]) -> Iterator[Text]:
    rows = [(rule.id, count(rule.evidence.requests, "request"), _saved(rule)) for rule in rules]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for rule, row in zip(rules, rows, strict=True):
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        title = f"{rule.finding} {load(rule.finding).title}"
        yield line(f"  {cells[0]}   ", ("   ".join((*cells[1:], title)), DIM))


def _saved(rule: Rule) -> str:
    if not rule.enabled:
        return "not enabled"
    about = "" if rule.evidence.exact else "about "
    return f"{about}{rule.evidence.tokens_saved:,} tokens" if rule.evidence.tokens_saved else ""
