"""G14: a schema whose grammar grows beyond what compiles in a moment."""

from collections.abc import Iterator

from cachediag.lint.checks.subject import Subject, finding
from cachediag.lint.keywords import depth_of
from cachediag.model import Finding, Severity
from cachediag.protocol import jsontext
from cachediag.protocol.jsontext import step

__all__ = ["check"]

_LARGE = {"bytes": 100_000, "parts": 2_000, "depth": 80, "enum": 1_000, "repeat": 10_000}
_HUGE = {"bytes": 1_000_000, "parts": 20_000, "depth": 240, "enum": 10_000, "repeat": 1_000_000}
_REPEATS = ("maxItems", "minItems", "maxLength", "minLength")


def check(subject: Subject) -> Iterator[Finding]:
    """Find what is largest for its kind."""
    path, root = subject.schema.path, subject.schema.schema
    size = len(jsontext.encode(root))
    sizes: list[tuple[str, int, str, str]] = [
        ("bytes", size, path, f"{size:,} bytes of schema"),
        ("depth", depth_of(root), path, "a schema nested {:,} levels deep"),
        ("parts", len(subject.parts.all), path, "{:,} schemas in one"),
    ]
    for part in subject.parts.all:
        values = part.schema.get("enum")
        if isinstance(values, list):
            sizes.append(("enum", len(values), step(part.path, "enum"), "{:,} values to choose of"))
        for keyword in _REPEATS:
            count = part.schema.get(keyword)
            if isinstance(count, int) and not isinstance(count, bool):
                at = step(part.path, keyword)
                sizes.append(("repeat", count, at, "a bound of {:,}, which is counted out"))
    kind, count, at, what = max(sizes, key=lambda each: each[1] / _LARGE[each[0]])
    if count >= _LARGE[kind]:
        severity: Severity = "cost" if count >= _HUGE[kind] else "info"
        yield finding(
            "G14",
            at,
            f"There is {what.format(count)}. Decoders take long, or much memory, to compile it.",
            severity=severity,
            confidence="suspected",
        )
