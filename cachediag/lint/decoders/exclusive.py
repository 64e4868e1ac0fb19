"""Whether two branches of a `oneOf` are known to exclude one another, as llguidance proves it."""

from collections.abc import Mapping

from cachediag.lint.keywords import TYPES, kinds, matches
from cachediag.model import Json

__all__ = ["exclude"]

_DEEPEST = 12


def exclude(a: Json, b: Json, beside: Mapping[str, Json] | None = None, depth: int = 0) -> bool:
    """Whether nothing fits both branches, told by type, literal text or required property.

    Numbers are never told apart, nor is anything behind a reference.

    Args:
        a: one branch.
        b: the other.
        beside: what stands beside the `oneOf`, and holds for both.
        depth: how deep in the branches this is.
    """
    if a is False or b is False:
        return True
    if not isinstance(a, dict) or not isinstance(b, dict) or depth > _DEEPEST:
        return False
    if "$ref" in a or "$ref" in b:
        return False
    for one, other in ((a, b), (b, a)):
        for keyword in ("anyOf", "oneOf"):
            options = one.get(keyword)
            if isinstance(options, list):
                return all(exclude(each, other, beside, depth + 1) for each in options)
    values = [_values(a), _values(b)]
    if values[0] is not None and values[1] is not None:
        return all(_differ(x, y) for x in values[0] for y in values[1])
    types = [_types(each, given, beside) for each, given in zip((a, b), values, strict=True)]
    if types[0].isdisjoint(types[1]):
        return True
    return types[0] == types[1] == {"object"} and _objects(a, b, depth)


def _values(schema: Mapping[str, Json]) -> list[Json] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _types(
    schema: Mapping[str, Json], values: list[Json] | None, beside: Mapping[str, Json] | None
) -> frozenset[str]:
    if values is not None:
        found = {kind for value in values for kind in TYPES if matches(value, kind)}
    else:
        found = set(kinds(schema))
    if beside:
        found &= kinds(beside)
    return frozenset("number" if kind == "integer" else kind for kind in found)


def _differ(a: Json, b: Json) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return a != b
    if isinstance(a, bool) and isinstance(b, bool):
        return a != b
    kind_of = [next(kind for kind in TYPES if matches(value, kind)) for value in (a, b)]
    return kind_of[0] != kind_of[1]


def _objects(a: Mapping[str, Json], b: Mapping[str, Json], depth: int) -> bool:
    for name in {*_asked(a), *_asked(b)}:
        sides = [_member(each, name) for each in (a, b)]
        if exclude(sides[0], sides[1], None, depth + 1):
            return True
    return False


def _asked(schema: Mapping[str, Json]) -> list[str]:
    asked = schema.get("required")
    return [name for name in asked if isinstance(name, str)] if isinstance(asked, list) else []


def _member(schema: Mapping[str, Json], name: str) -> Json:
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    return schema.get("additionalProperties", True)
