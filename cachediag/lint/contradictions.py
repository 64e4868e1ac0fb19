"""Schemas that no value fits, as far as it can be told without searching."""

from collections.abc import Mapping
from typing import NamedTuple, TypeGuard

from cachediag.lint.keywords import kinds, violates
from cachediag.lint.references import MISSING, is_local, resolve
from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = ["Contradiction", "contradiction"]

_DEEPEST = 60
_BOUNDS = (
    ("minimum", "maximum", False),
    ("exclusiveMinimum", "maximum", True),
    ("minimum", "exclusiveMaximum", True),
    ("exclusiveMinimum", "exclusiveMaximum", True),
)


class Contradiction(NamedTuple):
    """Why nothing fits a schema."""

    path: str
    """JSON path in the schema; empty for the schema itself."""
    why: str


def contradiction(schema: Json, root: Json) -> Contradiction | None:
    """Why no value fits a schema; None where one may.

    Args:
        schema: the schema, or a part of it.
        root: the whole, which its references lead into.
    """
    return _look(schema, root, "", frozenset())


def _look(schema: Json, root: Json, path: str, above: frozenset[str]) -> Contradiction | None:
    if schema is False:
        return Contradiction(path, "`false` lets nothing through")
    if not isinstance(schema, dict) or path.count(".") + path.count("[") > _DEEPEST:
        return None
    return (
        _values(schema, path)
        or _kinds(schema, root, path, above)
        or _combined(schema, root, path, above)
        or _referred(schema, root, path, above)
    )


def _values(schema: Mapping[str, Json], path: str) -> Contradiction | None:
    values = schema.get("enum")
    if "const" in schema:
        values = [schema["const"]]
    if not isinstance(values, list):
        return None
    keyword = "const" if "const" in schema else "enum"
    if not values:
        return Contradiction(step(path, keyword), "the list of values is empty")
    for name, argument in schema.items():
        if name != keyword and all(violates(value, name, argument) for value in values):
            what = "the value breaks" if len(values) == 1 else "every value breaks"
            return Contradiction(step(path, keyword), f"{what} `{name}` beside it")
    return None


def _kinds(
    schema: Mapping[str, Json], root: Json, path: str, above: frozenset[str]
) -> Contradiction | None:
    """Where none of the types that are allowed can be met."""
    if "type" not in schema:
        return None
    first = None
    for kind in sorted(kinds(schema)):
        why = None
        if kind in {"integer", "number"}:
            why = _bounds(schema, path)
        elif kind == "string":
            why = _sizes(schema, path, "minLength", "maxLength")
        elif kind == "array":
            why = _sizes(schema, path, "minItems", "maxItems") or _items(schema, root, path, above)
        elif kind == "object":
            why = _sizes(schema, path, "minProperties", "maxProperties") or _members(
                schema, root, path, above
            )
        if why is None:
            return None
        first = first or why
    return first


def _bounds(schema: Mapping[str, Json], path: str) -> Contradiction | None:
    for low, high, strict in _BOUNDS:
        a, b = schema.get(low), schema.get(high)
        if _number(a) and _number(b) and (a > b or (strict and a >= b)):
            return Contradiction(step(path, low), f"`{low}` leaves nothing below `{high}`")
    return None


def _number(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sizes(schema: Mapping[str, Json], path: str, low: str, high: str) -> Contradiction | None:
    a, b = schema.get(low), schema.get(high)
    if _number(a) and _number(b) and a > b:
        return Contradiction(step(path, low), f"`{low}` is greater than `{high}`")
    return None


def _items(
    schema: Mapping[str, Json], root: Json, path: str, above: frozenset[str]
) -> Contradiction | None:
    least = schema.get("minItems")
    if not _number(least) or least <= 0:
        return None
    first = schema.get("prefixItems")
    given = len(first) if isinstance(first, list) else 0
    if given >= least or "items" not in schema:
        return None
    return _look(schema["items"], root, step(path, "items"), above)


def _members(
    schema: Mapping[str, Json], root: Json, path: str, above: frozenset[str]
) -> Contradiction | None:
    properties, required = schema.get("properties"), schema.get("required")
    properties = properties if isinstance(properties, dict) else {}
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    for number, name in enumerate(required if isinstance(required, list) else ()):
        if not isinstance(name, str):
            continue
        if name in properties:
            inner = step(step(path, "properties"), name)
            if found := _look(properties[name], root, inner, above):
                return found
        elif closed:
            at = step(step(path, "required"), number)
            return Contradiction(at, "required, and `additionalProperties` forbids it")
    return None


def _combined(
    schema: Mapping[str, Json], root: Json, path: str, above: frozenset[str]
) -> Contradiction | None:
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        if isinstance(options, list):
            at = step(path, keyword)
            found = [_look(o, root, step(at, n), above) for n, o in enumerate(options)]
            if all(found):
                return next(iter(found), None) or Contradiction(at, "the list of options is empty")
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return None
    at, left = step(path, "allOf"), _wide(kinds(schema))
    for number, part in enumerate(parts):
        if found_part := _look(part, root, step(at, number), above):
            return found_part
        if isinstance(part, dict):
            left &= _wide(kinds(part))
    return None if left else Contradiction(at, "the branches ask for different types")


def _wide(named: frozenset[str]) -> frozenset[str]:
    return named | {"integer"} if "number" in named else named


def _referred(
    schema: Mapping[str, Json], root: Json, path: str, above: frozenset[str]
) -> Contradiction | None:
    reference = schema.get("$ref")
    if not isinstance(reference, str) or reference in above or not is_local(reference):
        return None
    target = resolve(root, reference)
    if target is MISSING or len(above) > _DEEPEST:
        return None
    found = _look(target, root, "", above | {reference})
    return found and Contradiction(step(path, "$ref"), found.why)
