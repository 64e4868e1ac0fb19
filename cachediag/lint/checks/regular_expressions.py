"""G05: a pattern that can run away, in a validator or in a decoder."""

from collections.abc import Iterator

from cachediag.lint.automata import risk
from cachediag.lint.checks.subject import Subject, finding
from cachediag.model import Finding
from cachediag.protocol.jsontext import step

__all__ = ["check"]

_MESSAGES = {
    "ambiguous": "The pattern may match one text in many ways: a validator that backtracks, as in"
    " JavaScript and Python, can take minutes for a few dozen characters.",
    "states": "The pattern needs thousands of states: a decoder takes long, or much memory, to"
    " compile it.",
}
_MOST = 200


def check(subject: Subject) -> Iterator[Finding]:
    """Judge each pattern once."""
    told: set[str] = set()
    for path, pattern in _patterns(subject):
        if pattern in told or len(told) >= _MOST:
            continue
        told.add(pattern)
        message = _MESSAGES.get(risk(pattern))
        if message:
            yield finding("G05", path, message, shown=pattern, confidence="suspected")


def _patterns(subject: Subject) -> Iterator[tuple[str, str]]:
    for part in subject.parts.all:
        if isinstance(part.schema.get("pattern"), str):
            yield step(part.path, "pattern"), part.schema["pattern"]
        named = part.schema.get("patternProperties")
        if isinstance(named, dict):
            at = step(part.path, "patternProperties")
            yield from ((step(at, name), name) for name in named)
