"""Why a rule file is refused, or what is worth a second look in it."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Objection", "Reason"]

Reason = Literal[
    "lowers-reuse",
    "likeness",
    "purpose",
    "meets",
    "undoes",
    "repeats",
    "unreadable",
    "never-fires",
    "saves-nothing",
]


@dataclass(frozen=True, slots=True)
class Objection:
    """One thing that speaks against one rule or several."""

    reason: Reason
    rules: tuple[str, ...]
    """Their ids."""
    message: str
    remedy: str
    request: int | None = None
    """The first request that shows it; None where the session as a whole does."""
    path: str | None = None
    """JSON path there, in the body as it was sent."""
