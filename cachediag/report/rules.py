"""How a rule file tried on a session looks, and what its rules do to one request."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from cachediag.report.diff import evidence, spread, title
from cachediag.report.safe import printable
from cachediag.report.style import BAD, DIM, GOOD, commands, count, line, symbols
from cachediag.rules.check import Checked, RuleOutcome
from cachediag.rules.checking.objection import Objection
from cachediag.rules.checking.told import Told, shortened
from cachediag.rules.explain import Explained, ExplainedRule
from cachediag.rules.rule import Rule

__all__ = ["CheckReport", "ExplainReport"]

_MOST_TOLD = 3
_MOST_LANES = 8
_MOST_SHOWN = 4
_LABEL = 38
_TOLD_LINES = 2
_COLUMNS = 80
# A cache that reuses about what is shared needs no second figure.
_ALIKE = 0.05


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A rule file tried on a session."""

    checked: Checked
    session: str
    file: str
    """How the rule file was named."""
    given: str = ""
    """How to name the session in the next command."""
    live: str = "--upstream URL"
    """How to have the rules applied to what was recorded, behind `fix strip --rules FILE`."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        c = self.checked
        yield line(
            (f"{printable(self.file)} against {printable(self.session)}", "bold"),
            f"   {count(c.requests, 'request')}",
        )
        sure = "exact" if c.exact else "estimate"
        yield line((f"profile {c.profile}   tokens {printable(c.model)}   {sure}", DIM))
        if c.unread:
            yield line(f"{count(c.unread, 'body')} could not be read, and none is changed")
        yield Text()
        for rule in c.rules:
            yield from self._rule(rule, options)
            yield Text()
        yield from self._figures(options)
        for found in c.warnings:
            yield from _objection(found, f"{symbols(options).cost} ", "yellow", options)
            yield Text()
        yield from self._verdict(options)

    def _rule(self, outcome: RuleOutcome, options: ConsoleOptions) -> Iterator[Text]:
        rule = outcome.rule
        if not rule.enabled:
            yield _head(rule, "disabled, not applied", options)
            return
        yield _head(rule, f"{outcome.tokens_saved:+,} tokens", options)
        text = f"  {count(outcome.requests, 'request')}, {count(outcome.size, 'byte')}"
        if abs(outcome.reuse_gained - outcome.tokens_saved) > _ALIKE * abs(outcome.tokens_saved):
            text += f"   the cache reuses {outcome.reuse_gained:+,}"
        if outcome.tokens_added != outcome.tokens_saved:
            text += f"   beside the others {outcome.tokens_added:+,}"
        yield line((text, DIM))
        if outcome.told:
            yield line(f"  {_SAID.get(rule.action, _OTHERWISE)}")
        for told in outcome.told[:_MOST_TOLD]:
            yield from _told(rule, told, options)
        if (more := len(outcome.told) - _MOST_TOLD) > 0:
            yield line((f"  and {count(more, 'other kind')} of text", DIM))

    def _figures(self, options: ConsoleOptions) -> Iterator[Text]:
        c, arrow = self.checked, symbols(options).arrow
        for cache in c.caches:
            before, after = cache.hit_rates
            label = f"hit rate, {printable(cache.engine)}"
            note = "   the engine keeps no cache" if cache.engine.startswith("none") else ""
            yield line(f"{label:<{_LABEL}}  {before:.1%} {arrow} {after:.1%}", (note, DIM))
        shared = f"{c.shared_tokens[0]:,} {arrow} {c.shared_tokens[1]:,} tokens"
        yield line(f"{'shared with earlier requests':<{_LABEL}}  {shared}")
        for number, lane in enumerate(c.lanes[:_MOST_LANES]):
            label = "sharing all of their parent" if number == 0 else ""
            counted = f"{lane.whole[0]:,} {arrow} {lane.whole[1]:,} of {lane.requests:,}"
            yield line(f"{label:<{_LABEL}}  {printable(lane.lane)}: {counted}")
        if (more := len(c.lanes) - _MOST_LANES) > 0:
            yield line((f"{'':<{_LABEL}}  and {count(more, 'lane')} more", DIM))
        yield Text()

    def _verdict(self, options: ConsoleOptions) -> Iterator[Text]:
        c = self.checked
        for found in c.refusals:
            yield from _objection(found, f"{symbols(options).bad} refused: ", BAD, options)
            yield Text()
        file = printable(shlex.quote(self.file))
        if not c.safe:
            given = f"{printable(shlex.quote(self.given))} " if self.given else ""
            yield from commands({f"cachediag rules explain {given}{file}": "what each rule does"})
            return
        inside = [r.rule.id for r in c.rules if r.requests and r.rule.messages]
        if inside:
            what = "messages change only what the client put around the user's words"
        else:
            what = "no rule touches text of the user or of the model"
        yield line(("safe", GOOD), f"   {what}")
        command = f"cachediag fix strip --rules {file} {printable(self.live)}"
        yield from commands({command: "apply them as you work"})


def _head(rule: Rule, right: str, options: ConsoleOptions) -> Text:
    name = f"{printable(rule.id)}   {rule.finding}   {rule.action} {printable(rule.path)}"
    room = min(options.max_width, _COLUMNS) - len(right) - 2
    mark = symbols(options).ellipsis
    name = name if len(name) <= room else f"{name[: room - len(mark)]}{mark}"
    return spread((name, "bold"), right, options.max_width) if right else line((name, "bold"))


_OTHERWISE = "the model sees another text"
_SAID = {
    "drop-block": "the model no longer sees",
    "move-to-end": "told at the end of the newest message",
    "pin": "stays what it first was",
    "sort": "always in one order",
    "keep-inline": "stays in its place, said by the user",
}


def _told(rule: Rule, told: Told, options: ConsoleOptions) -> Iterator[Text]:
    signs = symbols(options)
    before, after = (
        printable(shortened(text)).replace("…", signs.ellipsis)
        for text in (told.before, told.after)
    )
    said = f"{before} {signs.arrow} {after}"
    if rule.action in ("drop-block", "move-to-end"):
        said = before
    elif rule.action == "sort":
        said = after
    width = min(options.max_width, _COLUMNS) - 4
    for each in wrap(said, width, max_lines=_TOLD_LINES, placeholder=f" {signs.ellipsis}"):
        yield line(f"    {each}")


def _objection(found: Objection, sign: str, style: str, options: ConsoleOptions) -> Iterator[Text]:
    head = f"{sign}{', '.join(map(printable, found.rules))}"
    yield _wrapped(f"{head}: {printable(found.message)}", len(head), style, options)
    if found.request is not None:
        path = f", {printable(found.path)}" if found.path else ""
        yield line((f"  request {found.request}{path}", DIM))
    yield _wrapped(f"  fix   {printable(found.remedy)}", 8, GOOD, options, indent=8)


def _wrapped(text: str, head: int, style: str, options: ConsoleOptions, *, indent: int = 2) -> Text:
    """A sentence on as many lines as it takes, its first characters in a style."""
    width = min(options.max_width, _COLUMNS)
    made = Text("\n".join(wrap(text, width, subsequent_indent=" " * indent)))
    made.stylize(style, 0, head)
    return made


@dataclass(frozen=True, slots=True)
class ExplainReport:
    """What each rule does to one request."""

    explained: Explained
    session: str
    file: str
    """How the rule file was named."""
    given: str = ""
    """How to name the session in the next command."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the report's lines."""
        info = self.explained.info
        if info is None:
            yield line(
                f"No rule of {printable(self.file)} changes any request of "
                f"{printable(self.session)}."
            )
            yield Text()
            yield from commands(self._next("diff", "", "what broke its prefixes"))
            return
        yield line(
            (f"request {info.index} of {printable(self.session)}", "bold"),
            f"   under {printable(self.file)}",
        )
        yield Text()
        for each in self.explained.rules:
            yield from self._rule(each, options)
            yield Text()
        file = f" {shlex.quote(self.file)}"
        yield from commands(self._next("rules check", file, "what they save in all"))

    def _next(self, command: str, file: str, purpose: str) -> dict[str, str]:
        given = f" {shlex.quote(self.given)}" if self.given else ""
        return {printable(f"cachediag {command}{given}{file}"): purpose}

    def _rule(self, each: ExplainedRule, options: ConsoleOptions) -> Iterator[Text]:
        rule, signs = each.rule, symbols(options)
        off = "" if rule.enabled else "disabled; if it were not:"
        yield _head(rule, off, options)
        yield line((f"  for {rule.finding}, {title(rule.finding)}", DIM))
        if not each.shown:
            yield line("  changes nothing here")
        for shown in each.shown[:_MOST_SHOWN]:
            size = f"{printable(shown.change.path)}, {count(shown.change.size, 'byte')}"
            yield line("  ", (size, DIM))
            yield from evidence(shown.before, shown.after, signs)
            if shown.after is None:
                yield line("  ", ("  ", DIM), (_where_to(rule), DIM))
        if (more := len(each.shown) - _MOST_SHOWN) > 0:
            yield line((f"  and {count(more, 'place')} more", DIM))


def _where_to(rule: Rule) -> str:
    if rule.action == "move-to-end":
        return "now at the end of the newest message"
    return "the model no longer sees it"
