"""llguidance: what it does not support it refuses, by name.

Which keywords it knows goes by the draft that `$schema` names, 2020-12 where it names none.
Source: https://github.com/guidance-ai/llguidance/blob/main/parser/src/json/schema.rs
"""

from collections.abc import Mapping
from itertools import combinations

from cachediag.lint.contradictions import contradiction
from cachediag.lint.decoders.exclusive import exclude
from cachediag.lint.decoders.reading import Child, Leaves, Reading, Refused, listed, named
from cachediag.lint.keywords import TYPES, constrains, kinds
from cachediag.lint.patterns import WORDS, features
from cachediag.lint.references import MISSING, is_local, resolve
from cachediag.lint.support import Support
from cachediag.model import Json
from cachediag.protocol.jsontext import step

__all__ = ["Llguidance"]

_DRAFTS = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
}
_SINCE = {
    **dict.fromkeys(("propertyNames", "contains"), 6),
    **dict.fromkeys(("if", "then", "else"), 7),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "minContains", "maxContains"), 2019),
    **dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), 2019),
    **dict.fromkeys(("$recursiveRef", "$recursiveAnchor"), 2019),
    **dict.fromkeys(("$dynamicRef", "$dynamicAnchor"), 2020),
}
_REFUSED = {
    *("lookahead", "lookbehind", "backreference", "word boundary", "unknown escape"),
    *("inner anchor", "range", "malformed", "counts"),
}
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


class Llguidance:
    """Reads one schema as llguidance does, with its defaults."""

    def __init__(self, root: Json, support: Support) -> None:
        self._root = root
        self._formats = support.formats
        draft = _draft(root)
        unknown = support.named("rejected")
        self._refused = frozenset(word for word in unknown if _SINCE.get(word, 0) <= draft)
        self._foreign = unknown - self._refused
        self._checked = False

    def finish(self) -> None:
        """Refuse what nothing can fit."""
        if found := contradiction(self._root, self._root):
            raise Refused(f"nothing fits it: {found.why}")

    def read(self, schema: Json, path: str, *, quiet: bool) -> Reading:
        """Read one part."""
        if not self._checked:
            self._check_whole()
        if isinstance(schema, bool):
            return Reading()
        if not isinstance(schema, dict):
            raise Refused("a schema is an object, true or false")
        for keyword in schema:
            if keyword in self._refused:
                raise Refused(f"`{keyword}` is not supported", keyword)
        why = "no keyword of the draft that `$schema` names"
        ignored = [
            Leaves(keyword, why)
            for keyword in schema
            if keyword in self._foreign and constrains(schema, keyword)
        ]
        _check_values(schema)
        return Reading(ignored, self._children(schema, path, quiet=quiet))

    def _check_whole(self) -> None:
        self._checked = True
        named_draft = self._root.get("$schema") if isinstance(self._root, dict) else None
        if isinstance(named_draft, str) and _bare(named_draft) not in _DRAFTS:
            raise Refused("a draft that is not known", "$schema")

    def _children(self, schema: Mapping[str, Json], path: str, *, quiet: bool) -> list[Child]:
        children: list[Child] = []
        for keyword in ("allOf", "anyOf", "oneOf"):
            if keyword in schema:
                children += listed(schema, path, keyword, quiet=quiet)
        if "oneOf" in schema and not _exclusive(schema, self._root):
            raise Refused("the branches of `oneOf` may overlap", "oneOf")
        if "$ref" in schema:
            children.append(Child("", self._follow(schema), quiet))
        if _loops(schema, self._root):
            raise Refused("a reference goes round in a circle beside other keywords")
        allowed = kinds(schema)
        if "array" in allowed:
            children += _items(schema, path, quiet=quiet)
        if "object" in allowed:
            children += _members(schema, path, quiet=quiet)
        if "string" in allowed:
            self._check_text(schema)
        return children

    def _follow(self, schema: Mapping[str, Json]) -> Json:
        reference = schema["$ref"]
        if not isinstance(reference, str):
            raise Refused("`$ref` is no text", "$ref")
        if is_local(reference):
            target = resolve(self._root, reference)
        else:
            target = _anchored(self._root, reference.removeprefix("#"))
            if not reference.startswith("#"):
                raise Refused("the reference leaves the schema", "$ref")
        if target is MISSING:
            raise Refused("the reference leads nowhere", "$ref")
        return target

    def _check_text(self, schema: Mapping[str, Json]) -> None:
        if "pattern" in schema:
            _check_pattern(schema["pattern"], "pattern")
        given = schema.get("format")
        if "format" in schema and not (isinstance(given, str) and given in self._formats):
            raise Refused("the format is not known", "format")


def _draft(root: Json) -> int:
    given = root.get("$schema") if isinstance(root, dict) else None
    return _DRAFTS.get(_bare(given), 2020) if isinstance(given, str) else 2020


def _bare(uri: str) -> str:
    return uri.removeprefix("http://").removeprefix("https://").rstrip("#")


def _check_values(schema: Mapping[str, Json]) -> None:
    kind = schema.get("type")
    if "type" in schema:
        types = kind if isinstance(kind, list) else [kind]
        if not all(isinstance(each, str) for each in types):
            raise Refused("`type` is no name", "type")
        if not set(types) <= set(TYPES):
            raise Refused("the type is none of JSON's", "type")
        if not types:
            raise Refused("`type` allows nothing", "type")
    if "enum" in schema and not isinstance(schema["enum"], list):
        raise Refused("`enum` is no list", "enum")
    allowed = kinds(schema)
    for keyword in _COUNTS:
        if keyword in schema and _concerns(keyword, allowed):
            value = schema[keyword]
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise Refused(f"`{keyword}` is no count", keyword)
    if allowed & {"integer", "number"}:
        _check_numbers(schema, whole="number" not in allowed)


def _concerns(keyword: str, allowed: frozenset[str]) -> bool:
    kind = {"h": "string", "s": "array"}[keyword[-1]]
    return ("object" if keyword.endswith("Properties") else kind) in allowed


def _check_numbers(schema: Mapping[str, Json], *, whole: bool) -> None:
    for keyword in (*_BOUNDS, "multipleOf"):
        value = schema.get(keyword, 1)
        is_old = isinstance(value, bool) and keyword.startswith("exclusive")
        if not is_old and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise Refused(f"`{keyword}` is no number", keyword)
        if whole and not is_old and keyword in _BOUNDS and not -(2**63) < value < 2**63:
            raise Refused(f"`{keyword}` is beyond 64 bits", keyword)
    if schema.get("multipleOf", 1) == 0:
        raise Refused("`multipleOf` is 0", "multipleOf")


def _check_pattern(pattern: Json, keyword: str) -> None:
    if not isinstance(pattern, str):
        raise Refused(f"`{keyword}` is no text", keyword)
    for feature in features(pattern):
        name = feature.name
        if name == "flags" and feature.text in {"(?>", "(?#"}:
            name = "malformed"
        if name in _REFUSED:
            raise Refused(f"{WORDS[name]} in `{keyword}`", keyword)


def _items(schema: Mapping[str, Json], path: str, *, quiet: bool) -> list[Child]:
    children: list[Child] = []
    for keyword in ("prefixItems", "items", "additionalItems"):
        if isinstance(schema.get(keyword), list):
            children += listed(schema, path, keyword, quiet=quiet)
        elif keyword == "prefixItems" and keyword in schema:
            raise Refused("`prefixItems` is no list", keyword)
        elif keyword in schema:
            children.append(Child(step(path, keyword), schema[keyword], quiet))
    return children


def _members(schema: Mapping[str, Json], path: str, *, quiet: bool) -> list[Child]:
    children: list[Child] = []
    for keyword in ("properties", "patternProperties"):
        if keyword in schema:
            children += named(schema, path, keyword, quiet=quiet)
    if "additionalProperties" in schema:
        at = step(path, "additionalProperties")
        children.append(Child(at, schema["additionalProperties"], quiet))
    asked = schema.get("required", [])
    if not isinstance(asked, list) or not all(isinstance(name, str) for name in asked):
        raise Refused("`required` is no list of names", "required")
    patterns = list(schema.get("patternProperties", {}))
    for pattern in patterns:
        _check_pattern(pattern, "patternProperties")
    if any(not _apart(a, b) for a, b in combinations(patterns[:50], 2)):
        raise Refused("two patterns may fit one name", "patternProperties")
    optional = set(schema.get("properties", {})) - set(asked)
    low, high = schema.get("minProperties", 0), schema.get("maxProperties", 0)
    if optional and (low > 1 or high > 1):
        keyword = "minProperties" if low > 1 else "maxProperties"
        raise Refused(f"`{keyword}` is not supported beside optional properties", keyword)
    return children


def _apart(a: str, b: str) -> bool:
    """Whether two patterns begin with texts of which neither begins the other."""
    heads = [_head(a), _head(b)]
    return not (heads[0].startswith(heads[1]) or heads[1].startswith(heads[0]))


def _head(pattern: str) -> str:
    if not pattern.startswith("^"):
        return ""
    head = ""
    for one in pattern[1:]:
        if not (one.isalnum() or one in "_-"):
            return head[:-1] if one in "*?{" else head
        head += one
    return head


def _exclusive(schema: Mapping[str, Json], root: Json) -> bool:
    beside = {word: each for word, each in schema.items() if word != "oneOf"}
    branches = [each for each in schema["oneOf"] if contradiction(each, root) is None]
    return len(branches) > 300 or all(exclude(a, b, beside) for a, b in combinations(branches, 2))


def _anchored(root: Json, name: str) -> Json:
    waiting = [root]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if each.get("$anchor") == name:
                return each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return MISSING


def _loops(schema: Mapping[str, Json], root: Json) -> bool:
    """Whether a part is reached again from itself, with something beside a reference on the way."""
    waiting: list[tuple[Json, frozenset[str], bool]] = [(schema, frozenset(), False)]
    steps = 0
    while waiting and steps < 2000:
        steps += 1
        each, above, mixed = waiting.pop()
        if not isinstance(each, dict):
            continue
        reference = each.get("$ref")
        constrained = any(constrains(each, word) for word in each if word != "$ref")
        if isinstance(reference, str) and is_local(reference):
            if reference in above:
                if mixed or constrained:
                    return True
                continue
            target = resolve(root, reference)
            waiting.append((target, above | {reference}, mixed or constrained))
        parts = each.get("allOf")
        if isinstance(parts, list):
            beside = len(parts) > 1 or any(constrains(each, w) for w in each if w != "allOf")
            waiting += [(part, above, mixed or beside) for part in parts]
    return False
