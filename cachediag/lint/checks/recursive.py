"""G06: a schema that contains itself."""

from collections.abc import Iterator

from cachediag.lint.checks.subject import Subject, finding
from cachediag.lint.parts import parts
from cachediag.lint.references import MISSING, is_local, resolve
from cachediag.model import Finding, Json
from cachediag.protocol.jsontext import step

__all__ = ["check"]

_MOST = 2000


def check(subject: Subject) -> Iterator[Finding]:
    """Find the first reference from which its own target is reached again."""
    root = subject.schema.schema
    for part in subject.parts.all:
        reference = part.schema.get("$ref")
        if isinstance(reference, str) and is_local(reference) and _comes_back(root, reference):
            yield finding(
                "G06",
                step(part.path, "$ref"),
                "The schema contains itself, so that output may be nested without end; Outlines"
                " follows it a few levels only.",
                shown=reference,
            )
            return


def _comes_back(root: Json, start: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting and len(seen) < _MOST:
        target = resolve(root, waiting.pop())
        if target is MISSING:
            continue
        for part in parts(target, "").all:
            further = part.schema.get("$ref")
            if further == start:
                return True
            if isinstance(further, str) and is_local(further) and further not in seen:
                seen.add(further)
                waiting.append(further)
    return False
