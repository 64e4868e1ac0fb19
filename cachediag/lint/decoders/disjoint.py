"""Whether the branches of a `oneOf` are known to exclude one another, as xgrammar proves it."""

from collections.abc import Sequence
from itertools import combinations

from cachediag.lint.keywords import TYPES, matches
from cachediag.model import Json

__all__ = ["are_disjoint"]

_MOST = 300
_SILENT = frozenset(
    ("title", "default", "description", "examples", "deprecated", "readOnly", "writeOnly")
) | {"$comment", "$schema"}
_COMPOUND = {"$ref", "anyOf", "allOf", "oneOf"}


def are_disjoint(branches: Sequence[Json]) -> bool:
    """Whether the branches differ in type, in value, or in one required property's value.

    Args:
        branches: what `oneOf` holds.
    """
    if not branches or len(branches) > _MOST:
        return False
    return _by_property(branches) or _by_type_or_value(branches)


def _values(schema: Json) -> list[Json] | None:
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) and values else None


def _by_property(branches: Sequence[Json]) -> bool:
    first = branches[0]
    if not isinstance(first, dict) or not isinstance(first.get("required"), list):
        return False
    for name in first["required"]:
        if not isinstance(name, str):
            continue
        found = [_of_property(branch, name) for branch in branches]
        told = [values for values in found if values is not None]
        if len(told) == len(branches) and not any(_share(a, b) for a, b in combinations(told, 2)):
            return True
    return False


def _of_property(branch: Json, name: str) -> list[Json] | None:
    if not isinstance(branch, dict) or not _COMPOUND.isdisjoint(branch):
        return None
    asked, properties = branch.get("required"), branch.get("properties")
    if branch.get("type") != "object" or not isinstance(properties, dict):
        return None
    if not isinstance(asked, list) or name not in asked:
        return None
    return _values(properties.get(name))


def _by_type_or_value(branches: Sequence[Json]) -> bool:
    told: list[list[Json] | frozenset[str]] = []
    for branch in branches:
        if not isinstance(branch, dict) or not _COMPOUND.isdisjoint(branch):
            return False
        values = _values(branch)
        named = _types(branch) if values is None else None
        if values is None and named is None:
            return False
        told.append(values if values is not None else named or frozenset())
    return not any(_overlap(a, b) for a, b in combinations(told, 2))


def _types(branch: dict[str, Json]) -> frozenset[str] | None:
    if branch.keys() - _SILENT != {"type"}:
        return None
    named = branch["type"]
    named = named if isinstance(named, list) else [named]
    known = frozenset(each for each in named if each in TYPES)
    return (
        known
        if named and len(known) == len(set(map(str, named))) and ("object" not in known)
        else None
    )


def _overlap(a: list[Json] | frozenset[str], b: list[Json] | frozenset[str]) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return _share(a, b)
    if isinstance(a, list):
        return any(_fits(value, b) for value in a) if isinstance(b, frozenset) else False
    if isinstance(b, list):
        return any(_fits(value, a) for value in b)
    numbers = {"integer", "number"}
    return bool(a & b) or bool(a & numbers and b & numbers)


def _fits(value: Json, named: frozenset[str]) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return not named.isdisjoint({"integer", "number"})
    return any(matches(value, kind) for kind in named)


def _share(a: list[Json], b: list[Json]) -> bool:
    return any(type(x) is type(y) and x == y for x in a for y in b)
