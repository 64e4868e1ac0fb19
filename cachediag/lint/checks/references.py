"""G12: a reference that leads out of the schema, or nowhere."""

from collections.abc import Iterator

from cachediag.lint.checks.subject import Subject, finding
from cachediag.lint.references import MISSING, is_local, resolve
from cachediag.model import Finding, Json
from cachediag.protocol.jsontext import step

__all__ = ["check"]


def check(subject: Subject) -> Iterator[Finding]:
    """Say of each reference that fails why it does, one finding a target."""
    root = subject.schema.schema
    anchors = {part.schema.get("$anchor") for part in subject.parts.all}
    told: set[str] = set()
    for part in subject.parts.all:
        reference = part.schema.get("$ref")
        if not isinstance(reference, str) or reference in told:
            continue
        why = _why(root, reference, anchors)
        if why:
            told.add(reference)
            yield finding("G12", step(part.path, "$ref"), why, shown=reference)


def _why(root: Json, reference: str, anchors: set[Json]) -> str:
    if not is_local(reference):
        if reference.startswith("#") and reference[1:] in anchors:
            return ""
        return (
            "The reference leads out of the schema, and no decoder fetches what stands there:"
            " xgrammar lets anything through, the others refuse the schema."
        )
    seen = [reference]
    while True:
        target = resolve(root, seen[-1])
        if target is MISSING:
            return "The reference leads nowhere: the schema has nothing at that place."
        further = target.get("$ref") if isinstance(target, dict) and len(target) == 1 else None
        if not isinstance(further, str) or not is_local(further):
            return ""
        if further in seen:
            return "The references go round in a circle and never say what is meant."
        seen.append(further)
