"""G04: text and arrays that may be of any length."""

from collections.abc import Iterator

from cachediag.lint.checks.subject import Subject, finding
from cachediag.lint.keywords import kinds
from cachediag.lint.parts import Part
from cachediag.model import Finding

__all__ = ["check"]

_FIXED = ("enum", "const")


def check(subject: Subject) -> Iterator[Finding]:
    """Count them in what is bound to its schema: elsewhere the model ends where it likes."""
    if not subject.is_binding:
        return
    texts = [part for part in subject.parts.all if _is_text(part)]
    arrays = [part for part in subject.parts.all if _is_array(part)]
    if not texts and not arrays:
        return
    what = [_counted(texts, "text"), _counted(arrays, "array")]
    yield finding(
        "G04",
        (texts + arrays)[0].path,
        f"{' and '.join(filter(None, what))} without an upper bound, and white space between"
        " tokens: a model that runs on is not stopped before max_tokens.",
    )


def _counted(parts: list[Part], noun: str) -> str:
    return f"{len(parts)} {noun}{'s' * (len(parts) > 1)}" if parts else ""


def _typed(part: Part, kind: str) -> bool:
    return "type" in part.schema and kind in kinds(part.schema)


def _is_text(part: Part) -> bool:
    bounded = ("maxLength", "format", "pattern", *_FIXED)
    return _typed(part, "string") and not any(keyword in part.schema for keyword in bounded)


def _is_array(part: Part) -> bool:
    return _typed(part, "array") and not any(
        keyword in part.schema for keyword in ("maxItems", *_FIXED)
    )
