"""Schemas that no value fits, as far as it can be told without searching."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeGuard

from cachediag.lint.keywords import kinds, violates
from cachediag.lint.references import MISSING, is_local, resolve
from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = ["Contradiction", "Referred", "contradiction"]

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


Referred = dict[str, Contradiction | None]
"""What was found where references lead, so that each is followed once: two in each of thirty
definitions would lead to a thousand million places."""


@dataclass(frozen=True, slots=True)
class _Above:
    """The references that led here."""

    known: Referred
    depth: int = 0


def contradiction(schema: Json, root: Json, known: Referred | None = None) -> Contradiction | None:
    """Why no value fits a schema; None where one may.

    Args:
        schema: the schema, or a part of it.
        root: the whole, which its references lead into.
        known: what was found for other parts of the same root, to which this is added.
    """
    return _look(schema, root, "", _Above({} if known is None else known))


def _look(schema: Json, root: Json, path: str, above: _Above) -> Contradiction | None:
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
    schema: Mapping[str, Json], root: Json, path: str, above: _Above
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
    schema: Mapping[str, Json], root: Json, path: str, above: _Above
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
    schema: Mapping[str, Json], root: Json, path: str, above: _Above
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
    schema: Mapping[str, Json], root: Json, path: str, above: _Above
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
    schema: Mapping[str, Json], root: Json, path: str, above: _Above
) -> Contradiction | None:
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not is_local(reference):
        return None
    known = above.known
    if reference not in known:
        # While it is followed nothing is said of it: it may lead back to itself.
        known[reference] = None
        target = resolve(root, reference)
        if target is not MISSING and above.depth <= _DEEPEST:
            known[reference] = _look(target, root, "", replace(above, depth=above.depth + 1))
    found = known[reference]
    return found and Contradiction(step(path, "$ref"), found.why)
