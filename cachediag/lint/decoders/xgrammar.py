"""xgrammar: what is not supported is mostly left out, with a warning on stderr at best.

A part is read by the first of `$ref`, `const`, `enum`, `anyOf`, `oneOf`, `allOf` and `type` that it
has; what stands beside that is not looked at.
Source: https://github.com/mlc-ai/xgrammar/blob/main/cpp/json_schema_converter.cc
"""

from collections.abc import Iterator, Mapping

from cachediag.lint.decoders.disjoint import are_disjoint
from cachediag.lint.decoders.reading import (
    Child,
    Leaves,
    Reading,
    Refused,
    beside,
    but_entailed,
    listed,
    named,
    of_kinds,
)
from cachediag.lint.keywords import TYPES, constrains
from cachediag.lint.patterns import WORDS, features
from cachediag.lint.references import MISSING, is_local, resolve
from cachediag.lint.support import Support
from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = ["Xgrammar"]

_MULTIPLE_MOST, _RANGE_MOST = 1024, 10_000
_INT64, _INT32 = 2**63, 2**31 - 1
_REFUSED = {
    *("lookbehind", "backreference", "word boundary", "unicode property", "flags", "malformed"),
    *("counts", "huge count", "range", "empty class"),
}
_OBJECT = ("properties", "additionalProperties", "unevaluatedProperties")
_ARRAY = ("items", "prefixItems", "unevaluatedItems")
_ANNOTATIONS = frozenset(
    ("title", "default", "description", "examples", "deprecated", "readOnly", "writeOnly")
) | {"$comment", "$schema"}


class Xgrammar:
    """Reads one schema as xgrammar does, in its strict mode."""

    def __init__(self, root: Json, support: Support) -> None:
        self._root = root
        self._support = support

    def finish(self) -> None:
        """Nothing is left to be seen."""

    def read(self, schema: Json, path: str, *, quiet: bool) -> Reading:
        """Read one part."""
        if schema is False:
            raise Refused("`false` is refused wherever it stands")
        if schema is True:
            return Reading()
        if not isinstance(schema, dict):
            raise Refused("a schema is an object, true or false")
        if "$ref" in schema:
            return self._reference(schema, quiet=quiet)
        if "const" in schema:
            return Reading([*of_kinds(schema, [schema["const"]], "ignored beside const")])
        if "enum" in schema:
            values = schema["enum"]
            if not isinstance(values, list) or not values:
                raise Refused("`enum` must be a list that is not empty", "enum")
            return Reading([*of_kinds(schema, values, "ignored beside enum")])
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in schema:
                return self._branches(schema, path, keyword, quiet=quiet)
        return self._typed(schema, path, quiet=quiet)

    def _reference(self, schema: Mapping[str, Json], *, quiet: bool) -> Reading:
        reference = schema["$ref"]
        if not isinstance(reference, str):
            raise Refused("`$ref` is no text", "$ref")
        ignored = [*beside(schema, {"$ref"}, "ignored beside $ref")]
        if not is_local(reference):
            why = "a reference out of the schema lets anything through"
            return Reading([Leaves("$ref", why), *ignored])
        target = self._follow(reference)
        ignored = but_entailed(ignored, schema, [target], self._root)
        return Reading(ignored, [Child("", target, quiet)])

    def _follow(self, reference: str) -> Json:
        seen = [reference]
        while True:
            target = resolve(self._root, seen[-1])
            if target is MISSING:
                raise Refused("the reference leads nowhere", "$ref")
            further = target.get("$ref") if isinstance(target, dict) else None
            if not isinstance(further, str) or not is_local(further):
                return target
            if further in seen:
                raise Refused("the references go round in a circle", "$ref")
            seen.append(further)

    def _branches(
        self, schema: Mapping[str, Json], path: str, keyword: str, *, quiet: bool
    ) -> Reading:
        children = listed(schema, path, keyword, quiet=quiet)
        ignored = [*beside(schema, {keyword}, f"ignored beside {keyword}")]
        several = keyword == "allOf" and len(children) > 1
        if children and not several:
            ignored = but_entailed(ignored, schema, [each.schema for each in children], self._root)
        if keyword == "oneOf" and not are_disjoint(schema["oneOf"]):
            why = "its branches may overlap, so that it is taken for anyOf"
            ignored.insert(0, Leaves("oneOf", why))
        if several:
            ignored.insert(0, Leaves("allOf", "several branches let anything through"))
            children = [Child(each.path, each.schema, quiet=True) for each in children]
        return Reading(ignored, children)

    def _typed(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> Reading:
        kind = schema.get("type")
        if isinstance(kind, list):
            readings = [self._kind({**schema, "type": each}, path, quiet=quiet) for each in kind]
            if not kind:
                rest = {name: value for name, value in schema.items() if name != "type"}
                readings = [self._typed(rest, path, quiet=quiet)]
            ignored = dict.fromkeys(leaves for each in readings for leaves in each.ignored)
            children = [child for each in readings for child in each.children]
            return Reading([*ignored], children)
        if "type" in schema:
            return self._kind(schema, path, quiet=quiet)
        for name, group in (("object", _OBJECT), ("array", _ARRAY)):
            if any(word in schema for word in group):
                return self._kind({**schema, "type": name}, path, quiet=quiet)
        return Reading([*beside(schema, (), "ignored without a type")])

    def _kind(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> Reading:
        kind = schema["type"]
        if not isinstance(kind, str) or kind not in TYPES:
            raise Refused("the type is none of JSON's", "type")
        ignored = [
            Leaves(word, "not supported")
            for word in self._support.named("ignored")
            if word in schema and constrains(schema, word)
        ]
        if kind in {"integer", "number"}:
            return Reading([*ignored, *_number(schema, kind)])
        if kind == "string":
            return Reading([*ignored, *self._text(schema, quiet=quiet)])
        if kind == "array":
            return Reading(ignored, _array(schema, path, quiet=quiet))
        if kind == "object":
            return Reading([*ignored, *_missing(schema)], _object(schema, path, quiet=quiet))
        return Reading(ignored)

    def _text(self, schema: Mapping[str, Json], *, quiet: bool) -> Iterator[Leaves]:
        for keyword in ("format", "pattern"):
            if keyword in schema and not isinstance(schema[keyword], str):
                raise Refused(f"`{keyword}` is no text", keyword)
        _counts(schema, "minLength", "maxLength", whole=True)
        if _at(schema, "minLength") < 0 and not quiet:
            raise Refused("`minLength` is negative", "minLength")
        known = schema.get("format") in self._support.formats
        if "format" in schema and not known:
            yield Leaves("format", "the format is not known")
        if known and "pattern" in schema:
            yield Leaves("pattern", "ignored beside a format that is known")
        elif "pattern" in schema and not quiet:
            yield from _pattern(schema["pattern"])
        if known or "pattern" in schema:
            for keyword in ("minLength", "maxLength"):
                if constrains(schema, keyword):
                    what = "a format that is known" if known else "pattern"
                    yield Leaves(keyword, f"ignored beside {what}")


def _pattern(pattern: str) -> Iterator[Leaves]:
    for feature in features(pattern):
        if feature.name in _REFUSED and not (
            feature.in_class and feature.name in {"backreference", "unicode property"}
        ):
            if feature.name == "backreference" and feature.text == r"\0":
                continue
            raise Refused(f"{WORDS[feature.name]} in `pattern`", "pattern")
        if feature.name == "lookahead":
            yield Leaves("pattern", "lookahead is left out")


def _at(schema: Mapping[str, Json], keyword: str, otherwise: int = 0) -> int:
    value = schema.get(keyword, otherwise)
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _counts(schema: Mapping[str, Json], low: str, high: str, *, whole: bool) -> None:
    for keyword in (low, high):
        value = schema.get(keyword, 0)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Refused(f"`{keyword}` is no whole number", keyword)
    if _at(schema, low) > _INT32:
        raise Refused(f"`{low}` is beyond all bounds", low)
    if (
        high in schema
        and _at(schema, low) > _at(schema, high)
        and (_at(schema, high) >= 0 or whole)
    ):
        raise Refused(f"`{low}` is greater than `{high}`", low)


def _number(schema: Mapping[str, Json], kind: str) -> Iterator[Leaves]:
    bounds: dict[str, float] = {}
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if keyword not in schema:
            continue
        value = schema[keyword]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused(f"`{keyword}` is no number", keyword)
        if kind == "integer" and not -_INT64 < value < _INT64:
            raise Refused(f"`{keyword}` is beyond 64 bits", keyword)
        if kind == "integer" and value != int(value):
            raise Refused(f"`{keyword}` of an integer is no whole number", keyword)
        bounds[keyword] = value
    _crossed(bounds)
    if "multipleOf" in schema:
        yield from _multiple(schema["multipleOf"], kind, bounds)


def _crossed(bounds: Mapping[str, float]) -> None:
    for low, high, strict in (
        ("minimum", "maximum", False),
        ("minimum", "exclusiveMaximum", True),
        ("exclusiveMinimum", "maximum", True),
        ("exclusiveMinimum", "exclusiveMaximum", True),
    ):
        if low in bounds and high in bounds:
            a, b = bounds[low], bounds[high]
            if a > b or (strict and a == b):
                raise Refused("the bounds leave nothing between them", low)


def _multiple(value: Json, kind: str, bounds: Mapping[str, float]) -> Iterator[Leaves]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused("`multipleOf` is no number", "multipleOf")
    if value <= 0:
        raise Refused("`multipleOf` is not above 0", "multipleOf")
    lows = [bounds[w] for w in ("minimum", "exclusiveMinimum") if w in bounds]
    highs = [bounds[w] for w in ("maximum", "exclusiveMaximum") if w in bounds]
    if kind == "number":
        yield Leaves("multipleOf", "not supported for numbers")
    elif value != int(value) or value > _MULTIPLE_MOST:
        yield Leaves("multipleOf", f"only whole numbers up to {_MULTIPLE_MOST:,} are supported")
    elif (lows or highs) and (not lows or not highs or max(lows) + _RANGE_MOST <= min(highs)):
        yield Leaves("multipleOf", "not supported with these bounds")


def _array(schema: Mapping[str, Json], path: str, *, quiet: bool) -> list[Child]:
    children = []
    if "prefixItems" in schema:
        children = listed(schema, path, "prefixItems", quiet=quiet)
        if not all(isinstance(each.schema, dict) for each in children):
            raise Refused("`prefixItems` may hold objects only", "prefixItems")
    more = next((word for word in ("items", "unevaluatedItems") if word in schema), None)
    if more is not None:
        if not isinstance(schema[more], dict | bool):
            raise Refused(f"`{more}` is a list", more)
        if schema[more] is not False:
            children.append(Child(step(path, more), schema[more], quiet))
    _counts(schema, "minItems", "maxItems", whole=False)
    if _at(schema, "maxItems") < 0:
        raise Refused("`maxItems` is negative", "maxItems")
    least = max(_at(schema, "minItems"), _at(schema, "minContains"))
    given = len(schema["prefixItems"]) if "prefixItems" in schema else 0
    if "maxItems" in schema and given > _at(schema, "maxItems"):
        raise Refused("`maxItems` is less than there are prefixItems", "maxItems")
    if "maxItems" in schema and least > _at(schema, "maxItems"):
        raise Refused("`minContains` is greater than `maxItems`", "minContains")
    # An array with nothing but its type is any array.
    alone = schema.keys() - _ANNOTATIONS == {"type"}
    if (more is None or schema[more] is False) and not alone and least > given:
        raise Refused("items are asked for, and none but prefixItems are allowed", "minItems")
    return children


def _missing(schema: Mapping[str, Json]) -> Iterator[Leaves]:
    properties = schema.get("properties", {})
    asked = schema.get("required", [])
    if isinstance(asked, list) and any(name not in properties for name in asked):
        yield Leaves("required", "a name that `properties` lacks is not asked for")


def _object(schema: Mapping[str, Json], path: str, *, quiet: bool) -> list[Child]:
    children = []
    for keyword in ("properties", "patternProperties"):
        if keyword in schema:
            children += named(schema, path, keyword, quiet=quiet)
    asked = schema.get("required", [])
    if not isinstance(asked, list) or not all(isinstance(name, str) for name in asked):
        raise Refused("`required` is no list of names", "required")
    if "propertyNames" in schema:
        names = schema["propertyNames"]
        if not isinstance(names, dict) or names.get("type", "string") != "string":
            raise Refused("`propertyNames` must be an object for texts", "propertyNames")
        text = (
            names
            if names.keys() & {"$ref", "const", "enum", "anyOf", "oneOf", "allOf"}
            else ({"type": "string", **names})
        )
        children.append(Child(step(path, "propertyNames"), text, quiet))
    more = next((w for w in ("additionalProperties", "unevaluatedProperties") if w in schema), None)
    if more is not None and not isinstance(schema[more], bool):
        children.append(Child(step(path, more), schema[more], quiet))
    for keyword in ("minProperties", "maxProperties"):
        value = schema.get(keyword, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise Refused(f"`{keyword}` is no count", keyword)
    least = _at(schema, "minProperties")
    if "maxProperties" in schema and max(least, len(set(asked))) > _at(schema, "maxProperties"):
        raise Refused("`maxProperties` is less than what is asked for", "maxProperties")
    closed = more is None or schema[more] is False
    others = schema.get("patternProperties") or "propertyNames" in schema
    if closed and not others and least > len(schema.get("properties", {})):
        raise Refused("more properties are asked for than are allowed", "minProperties")
    return children
