"""G01: an object that says nothing of further properties."""

from collections.abc import Iterator

from cachediag.lint.checks.subject import Subject, finding
from cachediag.lint.keywords import kinds
from cachediag.lint.parts import Part
from cachediag.model import Finding

__all__ = ["check"]

_CLOSING = ("additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames")


def check(subject: Subject) -> Iterator[Finding]:
    """Find the first such object, and count the others."""
    found = [part for part in subject.parts.all if _is_open(part)]
    if found:
        more = len(found) - 1
        others = f" So do {more} other objects in it." if more > 1 else ""
        others = " So does another object in it." if more == 1 else others
        yield finding(
            "G01",
            found[0].path,
            "Names its properties and does not say whether there may be others: xgrammar takes it"
            f" for closed, llguidance for open.{others}",
        )


def _is_open(part: Part) -> bool:
    properties = part.schema.get("properties")
    return (
        isinstance(properties, dict)
        and bool(properties)
        and "object" in kinds(part.schema)
        and not any(keyword in part.schema for keyword in _CLOSING)
    )
