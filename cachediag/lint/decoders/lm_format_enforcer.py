"""lm-format-enforcer: parsers are made while the output is written, so it fails late.

A part is read by the first of `anyOf`, `allOf`, `const`, `type: string`, `oneOf`, `type: object`,
`$ref`, `enum` and the other types that it has. What it cannot read counts as refused: the server
then decodes without the schema.
Source: https://github.com/noamgat/lm-format-enforcer/blob/main/lmformatenforcer/jsonschemaparser.py
"""

from collections.abc import Mapping

from cachediag.lint.decoders.disjoint import are_disjoint
from cachediag.lint.decoders.reading import (
    Child,
    Leaves,
    Reading,
    Refused,
    beside,
    but_entailed,
    listed,
    of_kinds,
)
from cachediag.lint.keywords import constrains
from cachediag.lint.patterns import WORDS, features
from cachediag.lint.references import MISSING
from cachediag.lint.support import Support
from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = ["LmFormatEnforcer"]

_REFUSED = {"lookbehind", "backreference", "unicode property", "word boundary"}
_MERGED = {"properties", "required", "type"}
_SCALARS = ("integer", "boolean", "null", "number")


class LmFormatEnforcer:
    """Reads one schema as lm-format-enforcer does."""

    def __init__(self, root: Json, support: Support) -> None:
        self._root = root
        self._support = support

    def finish(self) -> None:
        """Nothing is left to be seen."""

    def read(self, schema: Json, path: str, *, quiet: bool) -> Reading:
        """Read one part."""
        if not isinstance(schema, dict):
            raise Refused("true and false are not supported as schemas")
        if not schema and not path:
            return Reading()
        _check_shapes(schema)
        kind = schema.get("type")
        if schema.get("anyOf"):
            return self._any_of(schema, path, quiet=quiet)
        if schema.get("allOf"):
            return self._all_of(schema, path, quiet=quiet)
        if "const" in schema:
            if not isinstance(schema["const"], str):
                raise Refused("`const` is no text", "const")
            return Reading([*of_kinds(schema, [schema["const"]], "ignored beside const")])
        if kind == "string":
            return self._text(schema)
        if schema.get("oneOf"):
            return self._one_of(schema, path, quiet=quiet)
        if kind == "object":
            return self._object(schema, path, quiet=quiet)
        if "type" not in schema and "$ref" in schema:
            target = self._target(schema["$ref"])
            return Reading([*beside(schema, {"$ref"}, "ignored beside $ref")], [Child("", target)])
        if schema.get("enum"):
            return _enum(schema)
        return self._kind(schema, path, kind, quiet=quiet)

    def _kind(self, schema: Mapping[str, Json], path: str, kind: Json, *, quiet: bool) -> Reading:
        if kind in _SCALARS:
            return Reading([*beside(schema, {"type"}, "not supported")])
        if kind == "array":
            known = {"type", "items", "minItems", "maxItems"}
            inner = schema.get("items")
            ignored = [*beside(schema, known, "not supported")]
            if inner is True or not inner:
                if inner is False:
                    ignored.append(Leaves("items", "`false` is taken for no `items`"))
                return Reading(ignored)
            return Reading(ignored, [Child(step(path, "items"), inner, quiet)])
        if isinstance(kind, list):
            for each in kind:
                if each not in (*_SCALARS, "string", "object", "array"):
                    raise Refused("the type is none of JSON's", "type")
            return Reading([*beside(schema, {"type"}, "ignored beside a list of types")])
        raise Refused(
            "a schema without a type" if kind is None else "the type is not known", "type"
        )

    def _any_of(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> Reading:
        children = listed(schema, path, "anyOf", quiet=quiet)
        others = beside(schema, {"anyOf"}, "ignored beside anyOf")
        ignored = but_entailed(others, schema, [each.schema for each in children], self._root)
        return Reading(ignored, children)

    def _all_of(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> Reading:
        children = listed(schema, path, "allOf", quiet=quiet)
        left_out = beside(schema, {"allOf"}, "ignored beside allOf")
        *others, last = children
        held = False
        for each in children:
            own = each.schema if isinstance(each.schema, dict) else {}
            if held and "properties" not in own:
                raise Refused("a branch of `allOf` has no properties to merge", "allOf")
            held = held or bool(own.get("properties"))
        ignored = but_entailed(left_out, schema, [last.schema], self._root)
        inner = []
        for each in others:
            own = each.schema if isinstance(each.schema, dict) else {}
            if any(word not in _MERGED and constrains(own, word) for word in own):
                lost = "of all branches but the last only properties and required are read"
                ignored.insert(0, Leaves("allOf", lost))
            at = step(each.path, "properties")
            members = own.get("properties") or {}
            inner += [Child(step(at, name), one, quiet) for name, one in members.items()]
        return Reading([*dict.fromkeys(ignored)], [last, *inner])

    def _one_of(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> Reading:
        children = listed(schema, path, "oneOf", quiet=quiet)
        ignored = [
            *beside(schema, {"oneOf", "properties", "required", "type"}, "ignored beside oneOf")
        ]
        objects = [
            each
            for each in children
            if isinstance(each.schema, dict) and each.schema.get("type", "object") == "object"
        ]
        # Every branch is taken for an object, so that nothing fits the others.
        if len(objects) > 1 and not are_disjoint(schema["oneOf"]):
            ignored.insert(0, Leaves("oneOf", "taken for anyOf"))
        inner = []
        for each in children:
            own = each.schema if isinstance(each.schema, dict) else {}
            if schema.get("properties") and "properties" not in own:
                raise Refused("a branch of `oneOf` has no properties to merge", "oneOf")
            at = step(each.path, "properties")
            inner += [
                Child(step(at, name), one, quiet)
                for name, one in (own.get("properties") or {}).items()
            ]
        return Reading(ignored, inner)

    def _object(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> Reading:
        known = {"type", "properties", "required", "unevaluatedProperties"}
        if "properties" in schema:
            known.add("additionalProperties")
            at = step(path, "properties")
            asked = schema.get("required", [])
            # What is never written is never read.
            children = [
                Child(step(at, name), each, quiet)
                for name, each in schema["properties"].items()
                if each is not False or name in asked
            ]
            return Reading([*beside(schema, known, "not supported")], children)
        more = schema.get("additionalProperties")
        ignored = [*beside(schema, {*known, "additionalProperties"}, "not supported")]
        if more is False:
            ignored.append(Leaves("additionalProperties", "`false` without properties is ignored"))
        if isinstance(more, dict) and more:
            return Reading(ignored, [Child(step(path, "additionalProperties"), more, quiet)])
        return Reading(ignored)

    def _text(self, schema: Mapping[str, Json]) -> Reading:
        if schema.get("pattern") and (schema.get("minLength") or schema.get("maxLength")):
            raise Refused("`pattern` beside a length", "pattern")
        if schema.get("pattern"):
            for feature in features(schema["pattern"]):
                if feature.name in _REFUSED:
                    raise Refused(f"{WORDS[feature.name]} in `pattern`", "pattern")
        if schema.get("enum"):
            return Reading([*of_kinds(schema, schema["enum"], "ignored beside enum")])
        known = {"type", "pattern", "minLength", "maxLength", "enum"}
        return Reading([*beside(schema, known, "not supported")])

    def _target(self, reference: Json) -> Json:
        if not isinstance(reference, str):
            raise Refused("`$ref` is no text", "$ref")
        root = self._root if isinstance(self._root, dict) else {}
        held = root.get("definitions", root.get("$defs"))
        if not isinstance(held, dict):
            raise Refused("references need definitions or $defs in the schema", "$ref")
        target = held.get(reference.rpartition("/")[2], MISSING)
        if target is MISSING:
            raise Refused("the reference leads nowhere", "$ref")
        self._check_circle(held, reference)
        return target

    def _check_circle(self, held: Mapping[str, Json], reference: str) -> None:
        seen: set[str] = set()
        following: Json = reference
        while isinstance(following, str):
            name = following.rpartition("/")[2]
            if name in seen:
                raise Refused("the references go round in a circle", "$ref")
            seen.add(name)
            target = held.get(name)
            bare = isinstance(target, dict) and "type" not in target and "anyOf" not in target
            following = target.get("$ref") if isinstance(target, dict) and bare else None


def _enum(schema: Mapping[str, Json]) -> Reading:
    values = schema["enum"]
    texts = all(isinstance(value, str) for value in values)
    if not texts and not all(isinstance(value, int | float) for value in values):
        raise Refused("the values of `enum` are neither all texts nor all numbers", "enum")
    return Reading([*of_kinds(schema, values, "ignored beside enum")])


_LISTS = ("anyOf", "allOf", "oneOf", "enum", "required")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")


def _check_shapes(schema: Mapping[str, Json]) -> None:
    for keyword in _LISTS:
        if keyword in schema and not isinstance(schema[keyword], list):
            raise Refused(f"`{keyword}` is no list", keyword)
    for keyword in ("properties", "patternProperties"):
        if schema.get(keyword) is not None and not isinstance(schema[keyword], dict):
            raise Refused(f"`{keyword}` is no object", keyword)
    for keyword in _COUNTS:
        value = schema.get(keyword)
        if isinstance(value, float) and not value.is_integer():
            raise Refused(f"`{keyword}` is no whole number", keyword)
    for keyword in ("format", "pattern"):
        if schema.get(keyword) is not None and not isinstance(schema[keyword], str):
            raise Refused(f"`{keyword}` is no text", keyword)
    if "type" in schema and not isinstance(schema["type"], str | list):
        raise Refused("`type` is no name", "type")
    if isinstance(schema.get("items"), list):
        raise Refused("`items` is a list", "items")
