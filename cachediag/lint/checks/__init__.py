"""What is looked for in schemas: one file a finding, or two that are of one kind.

A check of a single schema is a function from a `Subject` to findings, named in `CHECKS`; what takes
the whole session is called by `lint`.
"""

from collections.abc import Callable, Iterable
from typing import Final

from cachediag.lint.checks import (
    contradictory,
    open_object,
    recursive,
    references,
    regular_expressions,
    size,
    strict,
    support,
    unbounded,
    volatile,
)
from cachediag.lint.checks.subject import Subject
from cachediag.model import Finding

__all__ = ["CHECKS", "Subject"]

CHECKS: Final[tuple[Callable[[Subject], Iterable[Finding]], ...]] = (
    open_object.check,
    support.check,
    unbounded.check,
    regular_expressions.check,
    recursive.check,
    volatile.check,
    strict.check,
    references.check,
    contradictory.check,
    size.check,
)
"""In the order of their codes."""
