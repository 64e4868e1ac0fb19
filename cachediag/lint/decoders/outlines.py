"""Outlines: one regular expression is made of a schema; most numbers and conditions are left out.

A part is read by the first of the keywords in `_ORDER` that it has.
Source: https://github.com/dottxt-ai/outlines-core/blob/main/src/json_schema/parsing.rs
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
from cachediag.lint.keywords import TYPES, constrains, kinds
from cachediag.lint.patterns import WORDS, features
from cachediag.lint.references import MISSING, resolve
from cachediag.lint.support import Support
from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = ["Outlines"]

_ORDER = (
    *("properties", "allOf", "anyOf", "oneOf", "prefixItems", "enum", "const", "$ref", "type"),
)
_DEEPEST_REFERENCE = 4
_REFUSED = {
    *("lookahead", "lookbehind", "backreference", "word boundary", "unknown escape", "anchor"),
    *("inner anchor", "text anchor", "range", "range of a class", "malformed", "counts"),
}
_SIZES = ("minLength", "maxLength")


class Outlines:
    """Reads one schema as outlines-core does."""

    def __init__(self, root: Json, support: Support) -> None:
        self._root = root
        self._formats = support.formats

    def finish(self) -> None:
        """Refuse references that go deeper than it follows."""
        self._check_references()

    def read(self, schema: Json, path: str, *, quiet: bool) -> Reading:
        """Read one part."""
        if not isinstance(schema, dict):
            raise Refused("true and false are not supported as schemas")
        if not schema:
            return Reading()
        keyword = next((each for each in _ORDER if each in schema), None)
        if keyword is None:
            raise Refused("no type, and no other keyword that is read")
        if keyword == "properties":
            return self._object(schema, path, quiet=quiet)
        if keyword in {"allOf", "anyOf", "oneOf"}:
            return self._branches(schema, path, keyword, quiet=quiet)
        if keyword == "prefixItems":
            children = listed(schema, path, keyword, quiet=quiet)
            why = "ignored beside prefixItems"
            # Exactly the items that are named are allowed.
            met = {"type", "items", "additionalItems", "unevaluatedItems", "minItems", "maxItems"}
            return Reading([*beside(schema, {*met, keyword}, why)], children)
        if keyword in {"enum", "const"}:
            return _values(schema, keyword)
        if keyword == "$ref":
            return self._reference(schema, quiet=quiet)
        return self._typed(schema, path, quiet=quiet)

    def _object(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> Reading:
        children = named(schema, path, "properties", quiet=quiet)
        known = {"properties", "required", "additionalProperties", "unevaluatedProperties"}
        if "type" in schema and "object" in kinds(schema):
            known.add("type")
        ignored = [*beside(schema, known, "ignored beside properties")]
        asked = schema.get("required")
        if isinstance(asked, list) and any(name not in schema["properties"] for name in asked):
            ignored.append(Leaves("required", "a name that `properties` lacks is not asked for"))
        return Reading(ignored, children)

    def _branches(
        self, schema: Mapping[str, Json], path: str, keyword: str, *, quiet: bool
    ) -> Reading:
        children = listed(schema, path, keyword, quiet=quiet)
        others = beside(schema, {keyword}, f"ignored beside {keyword}")
        ignored = but_entailed(others, schema, [each.schema for each in children], self._root)
        if keyword == "oneOf" and len(children) > 1 and not _apart(schema["oneOf"]):
            ignored.insert(0, Leaves("oneOf", "taken for anyOf"))
        return Reading(ignored, children)

    def _reference(self, schema: Mapping[str, Json], *, quiet: bool) -> Reading:
        reference = schema["$ref"]
        if not isinstance(reference, str):
            raise Refused("`$ref` is no text", "$ref")
        target = self._target(reference)
        others = beside(schema, {"$ref"}, "ignored beside $ref")
        ignored = but_entailed(others, schema, [target], self._root)
        return Reading(ignored, [Child("", target, quiet)])

    def _target(self, reference: str) -> Json:
        base, _, fragment = reference.rpartition("#")
        own = self._root.get("$id") if isinstance(self._root, dict) else None
        if base and base != own:
            raise Refused("the reference leaves the schema", "$ref")
        if "~" in fragment or "%" in fragment:
            raise Refused("the reference leads nowhere", "$ref")
        parts = [part for part in fragment.split("/") if part]
        target = resolve(self._root, "#/" + "/".join(parts)) if parts else self._root
        if target is MISSING:
            raise Refused("the reference leads nowhere", "$ref")
        return target

    def _check_references(self) -> None:
        """Refuse a chain of references that it does not follow to the end.

        What stands below `properties` is left out there instead, so only a chain of references and
        branches counts.
        """
        waiting: list[tuple[Json, int]] = [(self._root, 0)]
        steps = 0
        while waiting and steps < 5000:
            steps += 1
            each, depth = waiting.pop()
            if not isinstance(each, dict):
                continue
            if depth > _DEEPEST_REFERENCE:
                raise Refused("references lead deeper than it follows them", "$ref")
            keyword = next((word for word in _ORDER if word in each), None)
            if keyword == "$ref" and isinstance(each["$ref"], str):
                waiting.append((self._target(each["$ref"]), depth + 1))
            elif keyword in {"allOf", "anyOf", "oneOf"} and isinstance(each[keyword], list):
                waiting += [(part, depth) for part in each[keyword]]
            elif keyword == "type" and "items" in each:
                waiting.append((each["items"], depth))

    def _typed(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> Reading:
        kind = schema["type"]
        types = kind if isinstance(kind, list) else [kind]
        ignored: dict[Leaves, None] = {}
        children: list[Child] = []
        for each in types:
            if not isinstance(each, str):
                raise Refused("`type` is no name", "type")
            if each not in TYPES:
                raise Refused("the type is none of JSON's", "type")
            one = {**schema, "type": each}
            if each == "string":
                ignored |= dict.fromkeys(self._text(one))
            elif each == "array":
                ignored |= dict.fromkeys(_array(one))
                children += [
                    Child(step(path, "items"), one["items"], quiet)
                    for _ in range("items" in one and one.get("maxItems") != 0)
                ]
            elif each == "object":
                ignored |= dict.fromkeys(_map(one))
                more = one.get("additionalProperties", True)
                if more is not True and one.get("maxProperties") != 0:
                    children.append(Child(step(path, "additionalProperties"), more, quiet))
            else:
                ignored |= dict.fromkeys(beside(one, {"type"}, "not supported"))
        return Reading([*ignored], children)

    def _text(self, schema: Mapping[str, Json]) -> Iterator[Leaves]:
        lengths = [schema.get(word) for word in _SIZES]
        if any(word in schema for word in _SIZES):
            low, high = lengths
            if isinstance(low, int | float) and isinstance(high, int | float) and low > high:
                raise Refused("`minLength` is greater than `maxLength`", "minLength")
            yield from beside(schema, {"type", *_SIZES}, "ignored beside a length")
        elif isinstance(schema.get("pattern"), str):
            _check_pattern(schema["pattern"])
            yield from beside(schema, {"type", "pattern"}, "ignored beside pattern")
        elif isinstance(schema.get("format"), str):
            if schema["format"] not in self._formats:
                raise Refused("the format is not supported", "format")
            yield from beside(schema, {"type", "format"}, "not supported")
        else:
            yield from beside(schema, {"type"}, "not supported")


def _values(schema: Mapping[str, Json], keyword: str) -> Reading:
    values = [schema["const"]] if keyword == "const" else schema["enum"]
    if not isinstance(values, list):
        raise Refused("`enum` is no list", "enum")
    return Reading([*of_kinds(schema, values, f"ignored beside {keyword}")])


def _apart(branches: list[Json]) -> bool:
    """Whether branches differ in type, so that one at most fits anything."""
    seen: set[str] = set()
    for branch in branches:
        if not isinstance(branch, dict) or not ({"type", "const", "enum"} & branch.keys()):
            return False
        if branch.get("type") == "object" or "const" in branch or "enum" in branch:
            return are_disjoint(branches)
        found = {"number" if kind == "integer" else kind for kind in kinds(branch)}
        if seen & found:
            return False
        seen |= found
    return True


def _check_pattern(pattern: str) -> None:
    if pattern.startswith("^") and pattern.endswith("$"):
        pattern = pattern[1:-1]
    for feature in features(pattern):
        name = feature.name
        if name == "flags" and feature.text in {"(?>", "(?#"}:
            name = "malformed"
        # What is repeated there is the quote before it.
        repeated = name == "malformed" and feature.position == 0 and feature.text in {"*", "+", "?"}
        if name in _REFUSED and not repeated:
            raise Refused(f"{WORDS[name]} in `pattern`", "pattern")


def _array(schema: Mapping[str, Json]) -> Iterator[Leaves]:
    low, high = schema.get("minItems", 0), schema.get("maxItems")
    # A maximum of 0 makes an empty array of it before the minimum is looked at.
    if isinstance(low, int) and isinstance(high, int) and low > high > 0:
        raise Refused("`minItems` is greater than `maxItems`", "minItems")
    yield from beside(schema, {"type", "items", "minItems", "maxItems"}, "not supported")


def _map(schema: Mapping[str, Json]) -> Iterator[Leaves]:
    yield from beside(
        schema,
        {"type", "additionalProperties", "minProperties", "maxProperties", "unevaluatedProperties"},
        "not supported",
    )
    if constrains(schema, "maxProperties") and schema["maxProperties"] != 0:
        yield Leaves("maxProperties", "only 0 is supported")
    low = schema.get("minProperties", 0)
    if isinstance(low, int) and low > 1:
        yield Leaves("minProperties", "taken for 1")
