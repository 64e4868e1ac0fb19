"""The parts of a schema: every schema inside it, with its path, walked without recursion."""

from collections.abc import Iterator
from dataclasses import dataclass

from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = ["Part", "Parts", "parts"]

_MOST, _DEEPEST = 20_000, 400
_ONE = (
    *("items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties"),
    *("unevaluatedProperties", "propertyNames", "not", "if", "then", "else"),
)
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


@dataclass(frozen=True, slots=True)
class Part:
    """One schema inside another."""

    path: str
    """JSON path in the request's body."""
    schema: dict[str, Json]
    depth: int
    """How many schemas it stands in."""


@dataclass(frozen=True, slots=True)
class Parts:
    """All parts of a schema, or the first of very many."""

    all: tuple[Part, ...]
    is_whole: bool


def parts(schema: Json, path: str) -> Parts:
    """The schema itself and every schema inside it, in the order in which they stand.

    Args:
        schema: any JSON.
        path: where it stands in the body.
    """
    found: list[Part] = []
    waiting, whole = [(path, schema, 0)], True
    while waiting:
        at, each, depth = waiting.pop()
        if not isinstance(each, dict):
            continue
        if len(found) >= _MOST or depth > _DEEPEST:
            whole = False
            continue
        found.append(Part(at, each, depth))
        waiting += reversed([(below, one, depth + 1) for below, one in _inside(each, at)])
    return Parts(tuple(found), whole)


def _inside(schema: dict[str, Json], path: str) -> Iterator[tuple[str, Json]]:
    for keyword, value in schema.items():
        at = step(path, keyword)
        if keyword in _NAMED and isinstance(value, dict):
            yield from ((step(at, name), one) for name, one in value.items())
        elif keyword in _LISTS and isinstance(value, list):
            yield from ((step(at, number), one) for number, one in enumerate(value))
        elif keyword in _ONE:
            yield at, value
