"""G10: a strict schema where JSON mode is the safe choice."""

import re
from collections.abc import Iterator

from cachediag.lint.checks.subject import Subject, finding
from cachediag.model import Finding, Severity

__all__ = ["check", "switch_of"]

# Few parameters are active for each token, and the name says how many: `30B-A3B`.
_SPARSE = re.compile(r"(?<![a-z0-9])a\d+(?:\.\d+)?b(?![a-z0-9])|mixtral|-moe", re.IGNORECASE)
_CODER = re.compile(r"coder|codestral", re.IGNORECASE)
_SWITCHES = (
    ("openai/python", 'with_structured_output(schema, method="json_mode")'),
    ("openai/js", 'withStructuredOutput(schema, { method: "jsonMode" })'),
    ("ai-sdk", "supportsStructuredOutputs: false"),
    ("litellm", 'response_format={"type": "json_object"}'),
)


def check(subject: Subject) -> Iterator[Finding]:
    """Find a strict response of a model of the kind that was seen to stall on them."""
    schema = subject.schema
    if schema.kind != "response" or not schema.strict or schema.endpoint == "messages":
        return
    model = schema.model or ""
    if not _SPARSE.search(model):
        return
    severity: Severity = "cost" if _CODER.search(model) else "info"
    yield finding(
        "G10",
        schema.home,
        "A strict schema for a sparse mixture-of-experts model: such a call was seen to take"
        " minutes and to hold up all that queue behind it. JSON mode asks for JSON and checks it"
        " afterwards.",
        shown=model,
        severity=severity,
        confidence="suspected",
        fix=switch_of(schema.agent),
    )


def switch_of(agent: str | None) -> str:
    """How the client at hand asks for JSON mode, by what it calls itself."""
    known = (agent or "").lower()
    return next((each for name, each in _SWITCHES if name in known), _SWITCHES[-1][1])
