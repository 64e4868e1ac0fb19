"""The four arms of the experiment: each fix off and on."""

from dataclasses import dataclass

__all__ = ["ARMS", "Arm"]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to send a session to a backend."""

    name: str
    rules: bool
    """The rules are applied to what is sent."""
    patch: bool
    """The backend runs with the patch."""


ARMS = (
    Arm("as-recorded", rules=False, patch=False),
    Arm("rules-only", rules=True, patch=False),
    Arm("patch-only", rules=False, patch=True),
    Arm("both", rules=True, patch=True),
)
"""In the order in which they are reported."""
