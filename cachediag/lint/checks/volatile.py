"""G07: text about the present moment in what describes a tool."""

import re
from collections.abc import Iterator
from dataclasses import replace

from cachediag.compare.detectors import date_time, patterns
from cachediag.heads import common_head
from cachediag.lint.checks.subject import Subject, finding
from cachediag.lint.schemas import Schema
from cachediag.model import Excerpt, Finding
from cachediag.protocol.jsontext import step

__all__ = ["changed", "check"]

_NOW = re.compile(
    r"\b(?:today(?:'s date)?|current (?:date|time|day|month|year)|now|as of|last updated)\b"
    r"(?:\s+(?:is|was|on|at))?[\s:=*`\"'(]{1,4}",
    re.IGNORECASE,
)
_MOMENT = re.compile(date_time.PATTERN, re.IGNORECASE)
_LONGEST = 200_000
_TEXTS = ("description", "title", "$comment")
_AROUND = 24


def check(subject: Subject) -> Iterator[Finding]:
    """Find the first text that says what the time is."""
    for path, text in _texts(subject):
        for said in _NOW.finditer(text[:_LONGEST]):
            moment = _MOMENT.match(text, said.end())
            if moment:
                yield _told(path, text, moment.span())
                return


def _told(path: str, text: str, span: tuple[int, int]) -> Finding:
    start, end = max(0, span[0] - _AROUND), min(len(text), span[1] + _AROUND)
    made = finding(
        "G07",
        path,
        "Tells the model the time. When it changes, the prefix ends at this tool.",
        severity="info",
        confidence="suspected",
    )
    shown = Excerpt(text[start:end], span[0] - start, span[1] - start)
    return replace(made, after=shown)


def _texts(subject: Subject) -> Iterator[tuple[str, str]]:
    schema = subject.schema
    if schema.description is not None:
        yield _described(schema), schema.description
    for part in subject.parts.all:
        for keyword in _TEXTS:
            text = part.schema.get(keyword)
            if isinstance(text, str):
                yield step(part.path, keyword), text
        values = part.schema.get("enum")
        if isinstance(values, list):
            for number, value in enumerate(values[:1000]):
                if isinstance(value, str):
                    yield step(step(part.path, "enum"), number), value


def _described(schema: Schema) -> str:
    holder = schema.path.rpartition(".")[0]
    return f"{holder}.description"


def changed(earlier: Schema, later: Schema) -> Finding | None:
    """Two versions of one tool that differ in a date, an identifier or a number alone.

    Args:
        earlier: the tool in one request.
        later: the tool of that name in a later request.
    """
    before, after = (each.description or "" for each in (earlier, later))
    if before == after or max(len(before), len(after)) > _LONGEST:
        return None
    pairs = [(a, b) for a, b in zip(before.split("\n"), after.split("\n"), strict=False) if a != b]
    if before.count("\n") != after.count("\n") or not pairs:
        return None
    if not all(patterns.mask(a) == patterns.mask(b) for a, b in pairs):
        return None
    made = finding(
        "G07",
        _described(later),
        "Changes from request to request: the prefix ends at this tool each time.",
    )
    a, b = pairs[0]
    return replace(made, before=_around(a, b), after=_around(b, a))


def _around(line: str, other: str) -> Excerpt:
    head = common_head(line, other)
    start = max(0, head - _AROUND)
    text = line[start : head + _AROUND]
    return Excerpt(text, head - start, len(text))
