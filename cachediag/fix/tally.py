"""How much each rule has changed."""

from collections.abc import Iterable
from dataclasses import dataclass

from cachediag.rules.engine.applied import Applied
from cachediag.rules.rule import Rule

__all__ = ["RuleCount", "Tally"]


@dataclass(frozen=True, slots=True)
class RuleCount:
    """What one rule has done so far."""

    rule: str
    """Its id."""
    requests: int
    """Requests that it changed."""
    bytes: int
    """Bytes of these as they came that it removed, replaced or moved."""


class Tally:
    """Counts, as requests go by, what rules change in them.

    It is read while it counts, by another thread: what it gives is a value that stays.

    Args:
        rules: shown with nothing done, until they do something.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._counts = {rule.id: RuleCount(rule.id, 0, 0) for rule in rules}
        self.requests = 0
        """Requests that rules were applied to."""
        self.changed = 0
        """Of these, those that were changed."""

    def add(self, applied: Applied) -> None:
        """Count one request."""
        self.requests += 1
        sizes: dict[str, int] = {}
        for change in applied.changes:
            sizes[change.rule] = sizes.get(change.rule, 0) + change.size
        self.changed += bool(sizes)
        for rule, size in sizes.items():
            before = self._counts.get(rule, RuleCount(rule, 0, 0))
            self._counts[rule] = RuleCount(rule, before.requests + 1, before.bytes + size)

    @property
    def rules(self) -> tuple[RuleCount, ...]:
        """Each rule's count, in the order of the rule file."""
        return tuple(self._counts.values())

    @property
    def bytes(self) -> int:
        """Bytes of the requests as they came that were removed, replaced or moved."""
        return sum(count.bytes for count in self.rules)
