"""What a check looks at, and how it says what it found."""

from dataclasses import dataclass

from cachediag.findings import load
from cachediag.lint.parts import Parts
from cachediag.lint.schemas import Schema
from cachediag.lint.verdicts import Verdict
from cachediag.model import Confidence, Excerpt, Finding, Json, Severity
from cachediag.protocol import jsontext

__all__ = ["Subject", "excerpt", "finding"]

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Subject:
    """One schema, what it consists of, and what decoders make of it."""

    schema: Schema
    parts: Parts
    verdicts: tuple[Verdict, ...]
    """Of the decoders that are asked about."""
    is_decoded: bool
    """One of these decoders is known to be at work: the user named it."""

    @property
    def is_binding(self) -> bool:
        """Output is known to be held to the schema."""
        return self.is_decoded or self.schema.strict


def finding(
    code: str,
    path: str,
    message: str,
    *,
    shown: Json = None,
    severity: Severity | None = None,
    confidence: Confidence = "confirmed",
    fix: str | None = None,
) -> Finding:
    """A finding of this family.

    Args:
        code: its code.
        path: JSON path in the body.
        message: one or two sentences.
        shown: what stands there, of which the beginning is shown.
        severity: the page's, where it is not said.
        confidence: whether it is seen or inferred.
        fix: the page's, where it is not said.
    """
    page = load(code)
    return Finding(
        code=code,
        severity=severity or page.severity,
        confidence=confidence,
        path=path,
        after=None if shown is None else excerpt(shown),
        message=message,
        fix=fix or page.fix,
    )


def excerpt(value: Json) -> Excerpt:
    """The beginning of a value as it is written."""
    text = value if isinstance(value, str) else jsontext.encode(value).decode("utf-8", "replace")
    return Excerpt(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
