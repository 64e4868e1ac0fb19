"""G13: a schema, or a part of it, that no value fits."""

from collections.abc import Iterator

from cachediag.lint.checks.subject import Subject, finding
from cachediag.lint.contradictions import Referred, contradiction
from cachediag.model import Finding, below

__all__ = ["check"]

_MOST_PARTS = 2000


def check(subject: Subject) -> Iterator[Finding]:
    """Find what makes the whole impossible, or else the first part that is."""
    root = subject.schema.schema
    known: Referred = {}
    found = contradiction(root, root, known)
    if found:
        yield finding(
            "G13",
            below(subject.schema.path, found.path),
            f"Nothing fits the schema: {found.why}. A decoder refuses it, or never comes to an"
            " end.",
        )
        return
    for part in subject.parts.all[:_MOST_PARTS]:
        inner = contradiction(part.schema, root, known)
        if inner:
            yield finding(
                "G13",
                below(part.path, inner.path),
                f"Nothing fits this part, which can only be left out: {inner.why}.",
                severity="info",
            )
            return
