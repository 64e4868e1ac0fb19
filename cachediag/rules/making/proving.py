"""Proposals tried on the session that they were made from: does each remove its cause?"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cachediag.analysis.choice import Choice
from cachediag.errors import CachediagError
from cachediag.model import Exchange
from cachediag.rules.check import check
from cachediag.rules.checking.objection import Objection
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.making.proposals.proposed import Proposed
from cachediag.rules.making.values import Saved, Spot, collect, compared
from cachediag.rules.protocols import protocol_of
from cachediag.rules.rule import Rule, RuleSet
from cachediag.session.source import Source, Wrapped

__all__ = ["proved"]


_NOT_GONE = "Tried on this session, it did not remove the cause"
_MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class _Ruled(Wrapped):
    """A session as it would have been sent under some rules.

    Read in order, so that the pins know each conversation's first values.
    """

    rules: Sequence[Rule]
    pins: Pins

    def read(self, exchange: Exchange) -> Exchange:
        """Apply the rules; a body that is no JSON goes on as it is."""
        protocol = protocol_of(exchange.info.endpoint, exchange.info.path)
        if protocol is None:
            return exchange
        try:
            made = apply_rules(exchange.request, protocol, self.rules, self.pins)
        except (CachediagError, ValueError):
            return exchange
        return replace(exchange, request=made.body)


def proved(proposals: Sequence[Proposed], source: Source, choice: Choice) -> tuple[Proposed, ...]:
    """The proposals as the session bears them out.

    One that leaves its cause where it was, or that a check of the rule file would refuse, is
    disabled and says why. One that a person was to decide on, and that would do nothing, is left
    out.

    Args:
        proposals: with ids of their own.
        source: the session.
        choice: what to compare, to count and to play by.
    """
    left = _left(proposals, source, choice)
    kept = tuple(one for each in proposals for one in _judged(each, left))
    return _unrefused(kept, source, choice)


def _left(
    proposals: Sequence[Proposed], source: Source, choice: Choice
) -> dict[tuple[str, Spot], int]:
    """How many requests still show each cause.

    Where a block goes, those behind it have other paths. So a rule that takes one is left out but
    for the causes that it answers itself.
    """
    groups: defaultdict[frozenset[str], set[tuple[str, Spot]]] = defaultdict(set)
    for found in dict.fromkeys(found for each in proposals for found in each.answers):
        own = (each.rule for each in proposals if found in each.answers)
        takers = frozenset(rule.id for rule in own if _takes_a_block(rule))
        groups[takers].add((found.code, found.spot))
    left: dict[tuple[str, Spot], int] = {}
    for takers, wanted in groups.items():
        rules = [
            each.rule
            for each in proposals
            if each.rule.id in takers or not _takes_a_block(each.rule)
        ]
        for found in collect(compared(_Ruled(source, rules, Pins()), choice), Saved()):
            if (found.code, found.spot) in wanted:
                left[found.code, found.spot] = len(found.requests)
    return left


def _takes_a_block(rule: Rule) -> bool:
    return rule.action in ("drop-block", "move-to-end") and rule.path.endswith("]")


def _judged(each: Proposed, left: dict[tuple[str, Spot], int]) -> Iterator[Proposed]:
    before = sum(len(found.requests) for found in each.answers)
    after = sum(left.get((found.code, found.spot), 0) for found in each.answers)
    if after < before:
        rest = f" It still shows in {after} of {before} requests." if after else ""
        yield replace(each, effect=each.effect + rest)
    elif each.rule.enabled:
        yield _disabled(each, _NOT_GONE)


def _disabled(each: Proposed, why: str) -> Proposed:
    return replace(each, rule=replace(each.rule, enabled=False), caution=why)


def _unrefused(
    proposals: tuple[Proposed, ...], source: Source, choice: Choice
) -> tuple[Proposed, ...]:
    """Disable what a check of the rules refuses, until it refuses nothing."""
    for _ in range(_MOST_ROUNDS):
        enabled = RuleSet(tuple(each.rule for each in proposals if each.rule.enabled))
        if not enabled.rules:
            break
        refused = {
            name: _said(objection)
            for objection in check(source.exchanges(), enabled, choice).refusals
            for name in objection.rules
        }
        if not refused:
            break
        proposals = tuple(
            _disabled(each, f"A check refuses it: {refused[each.rule.id]}")
            if each.rule.id in refused
            else each
            for each in proposals
        )
    return proposals


def _said(objection: Objection) -> str:
    names = "it" if len(objection.rules) == 1 else " and ".join(objection.rules)
    return f"{names} {objection.message}"
