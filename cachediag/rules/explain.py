"""What each rule of a file does to one request, before and after."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cachediag.compare.excerpts import excerpts
from cachediag.errors import CachediagError, InputError
from cachediag.heads import common_head
from cachediag.model import Excerpt, Exchange, ExchangeInfo
from cachediag.rules.engine.applied import Applied, Change
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.engine.places import PathError, places
from cachediag.rules.engine.texts import is_text, text_at
from cachediag.rules.rule import PROTOCOLS, Rule, RuleSet
from cachediag.session.source import no_request

__all__ = ["Explained", "ExplainedRule", "Shown", "explain"]

# Of a block that goes as a whole.
_WHOLE = 160


@dataclass(frozen=True, slots=True)
class Shown:
    """One change with the text around it."""

    change: Change
    before: Excerpt
    after: Excerpt | None
    """None where nothing stands there any more."""


@dataclass(frozen=True, slots=True)
class ExplainedRule:
    """One rule and what it does, or would do if it were enabled."""

    rule: Rule
    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """What the rules do to one request."""

    info: ExchangeInfo | None
    """None where no request was asked for, and no rule changes any."""
    rules: tuple[ExplainedRule, ...]


def explain(
    name: str, exchanges: Iterable[Exchange], ruleset: RuleSet, number: int | None = None
) -> Explained:
    """Apply each rule alone to one request, the disabled ones too.

    Args:
        name: what the session is called.
        exchanges: the session's exchanges in order.
        ruleset: the rules.
        number: the request; by default the last one that any rule changes.

    Raises:
        UsageError: there is no such request.
        InputError: the request that was asked for calls no model, or cannot be read.
    """
    pins = Pins()
    found: tuple[Exchange, list[Applied]] | None = None
    count = 0
    for exchange in exchanges:
        count += 1
        wanted = number == exchange.info.index
        try:
            made = _applied(exchange, ruleset.rules, pins)
        except CachediagError:
            if wanted:
                raise
            continue
        if wanted or (number is None and any(each.changes for each in made)):
            found = exchange, made
        if wanted:
            break
    if found is None:
        if number is not None:
            raise no_request(name, number, count)
        return Explained(None, tuple(ExplainedRule(rule, ()) for rule in ruleset.rules))
    exchange, made = found
    return Explained(
        exchange.info,
        tuple(
            ExplainedRule(rule, tuple(_shown(exchange.request, rule, each.changes)))
            for rule, each in zip(ruleset.rules, made, strict=True)
        ),
    )


def _applied(exchange: Exchange, rules: Iterable[Rule], pins: Pins) -> list[Applied]:
    protocol = exchange.info.endpoint
    if protocol not in PROTOCOLS:
        raise InputError(
            f"request {exchange.info.index} calls no model, so no rule applies to it",
            remedy="List the requests: cachediag show SESSION",
        )
    return [apply_rules(exchange.request, protocol, [rule], pins) for rule in rules]


def _shown(body: bytes, rule: Rule, changes: Iterable[Change]) -> Iterator[Shown]:
    """Each change in the line that it stands in."""
    path, at = "", 0
    for change in changes:
        text = _text(body, change.path)
        if change.path != path:
            path, at = change.path, 0
        alone = rule.action in ("sort", "drop-block")
        start = -1 if alone else text.find(change.before, at)
        if start < 0:
            yield _apart(change)
            continue
        at = end = start + len(change.before)
        gone = rule.action == "move-to-end"
        put = "" if gone else change.after
        before, after = excerpts(
            text, text[:start] + put + text[end:], (start, end), (start, start + len(put))
        )
        yield Shown(change, before, None if gone else after)


def _apart(change: Change) -> Shown:
    """A change that is shown by itself, from where its two sides part."""
    before, after = change.before, change.after
    if not after:
        cut = before if len(before) <= _WHOLE else f"{before[: _WHOLE - 1]}…"
        return Shown(change, Excerpt(cut, 0, len(cut)), None)
    head = common_head(before, after)
    sides = excerpts(before, after, (head, len(before)), (head, len(after)))
    return Shown(change, *sides)


def _text(body: bytes, path: str) -> str:
    """The text at a path; empty where there is none."""
    try:
        place = next(iter(places(body, path)), None)
    except PathError:
        return ""
    return text_at(body, place) if place and is_text(body, place) else ""
