"""What a change of the tools costs: in tokens to prefill again, and in time to compile again."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachediag.lint.checks.changing import Change
from cachediag.lint.grammar.child import Result
from cachediag.lint.grammar.costs import EngineCosts, Group

__all__ = ["Compiled", "compiled"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """One way in which the tools change, compiled in each request where they do."""

    change: Change
    fresh: float | None
    """Seconds with a new compiler for each of these requests; None where one was not measured."""
    kept: float | None
    """Seconds on one compiler that is kept through the session; None likewise."""


def compiled(changes: Sequence[Change], engine: EngineCosts) -> tuple[Compiled, ...]:
    """Join what changed with what an engine took for the tools of those requests."""
    groups = {number: group for group in engine.groups for number in group.requests}
    return tuple(_compiled(change, groups) for change in changes)


def _compiled(change: Change, groups: dict[int, Group]) -> Compiled:
    held = [(number, groups.get(number)) for number in change.requests]
    return Compiled(
        change,
        _sum([None if group is None else group.fresh for _, group in held]),
        _sum([None if group is None else _kept(number, group) for number, group in held]),
    )


def _kept(number: int, group: Group) -> Result | None:
    """The first request with these tools has them compiled; the later ones find them there."""
    return group.reused if number == group.requests[0] else group.repeat


def _sum(results: Sequence[Result | None]) -> float | None:
    seconds = [None if each is None else each.seconds for each in results]
    known = [each for each in seconds if each is not None]
    return sum(known) if len(known) == len(seconds) else None
