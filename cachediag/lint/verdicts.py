"""What each decoder makes of a schema: compiles it, ignores parts of it, or refuses it."""

from dataclasses import dataclass
from typing import Literal

from cachediag.model import Json

__all__ = ["Ignored", "Outcome", "Verdict", "verdict"]

Outcome = Literal["compiles", "ignores", "rejects"]


@dataclass(frozen=True, slots=True)
class Ignored:
    """A keyword that a decoder leaves out: output that violates it is let through."""

    path: str
    """JSON path of the keyword in the schema; empty for the schema itself."""
    keyword: str
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one decoder makes of one schema."""

    decoder: str
    outcome: Outcome
    ignored: tuple[Ignored, ...] = ()
    """What it leaves out, where it compiles the schema."""
    reason: str | None = None
    """Why it refuses the schema."""
    path: str | None = None
    """Where in the schema the reason lies; empty for the schema itself."""


def verdict(_schema: Json, decoder: str) -> Verdict:
    """Tell what a decoder makes of a schema, without asking it."""
    return Verdict(decoder, "compiles")
