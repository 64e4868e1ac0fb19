"""What applying rules to a request came to."""

from dataclasses import dataclass

__all__ = ["Applied", "Change"]


@dataclass(frozen=True)
class Change:
    """One place that a rule changed."""

    rule: str
    """The rule's id."""
    path: str
    """JSON path of the place in the body as it was sent."""
    before: str
    """What the model would have been told there; untrusted."""
    after: str
    """What it is told instead; empty where it is told nothing."""
    size: int
    """Bytes of the body as sent that were removed, replaced or moved."""


@dataclass(frozen=True)
class Applied:
    """A body with rules applied. What no rule touched is in it byte for byte."""

    body: bytes
    """The same object as was given where nothing was changed."""
    changes: tuple[Change, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    """Rule and path of each change that was left out, because an earlier rule changes the same
    bytes."""
