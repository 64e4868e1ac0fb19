"""JSON Schema's keywords: which kind of value each constrains, and whether it says anything."""

from collections.abc import Mapping

from cachediag.model import Json

__all__ = [
    "TYPES",
    "constrains",
    "depth_of",
    "kinds",
    "matches",
    "violates",
]

TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")

_NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_STRING = ("minLength", "maxLength", "pattern", "format")
_ARRAY = (
    *("items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems"),
    *("uniqueItems", "contains", "minContains", "maxContains"),
)
_OBJECT = (
    *("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
    *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies"),
    "unevaluatedProperties",
)
_ANY = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "then", "else", "$ref")

_KIND = {
    **dict.fromkeys(_NUMBER, "number"),
    **dict.fromkeys(_STRING, "string"),
    **dict.fromkeys(_ARRAY, "array"),
    **dict.fromkeys(_OBJECT, "object"),
}
_NOTHING: dict[str, tuple[Json, ...]] = {
    "uniqueItems": (False,),
    "minItems": (0,),
    "minLength": (0,),
    "minProperties": (0,),
    "required": ([],),
    "properties": ({},),
    "patternProperties": ({},),
    "propertyNames": ({}, True, {"type": "string"}),
    "dependentRequired": ({},),
    "dependentSchemas": ({},),
    "dependencies": ({},),
    "additionalProperties": ({}, True),
    "unevaluatedProperties": ({}, True),
    "additionalItems": ({}, True),
    "unevaluatedItems": ({}, True),
    "items": ({}, True),
    "prefixItems": ([],),
    "allOf": ([],),
    "then": ({}, True),
    "else": ({}, True),
}
"""What each keyword may be without constraining anything."""


def kinds(schema: Mapping[str, Json]) -> frozenset[str]:
    """The types that a schema's own `type` allows; all where it says nothing."""
    named = schema.get("type")
    if isinstance(named, str):
        return frozenset((named,))
    if isinstance(named, list) and named:
        return frozenset(each for each in named if isinstance(each, str))
    return frozenset(TYPES)


def constrains(schema: Mapping[str, Json], keyword: str) -> bool:
    """Whether a keyword of a schema forbids anything that its `type` allows."""
    if keyword not in schema:
        return False
    value = schema[keyword]
    if any(type(value) is type(each) and value == each for each in _NOTHING.get(keyword, ())):
        return False
    if keyword in {"then", "else"}:
        return "if" in schema
    if keyword in {"minContains", "maxContains"} and "contains" not in schema:
        return False
    if keyword == "contains" and schema.get("minContains") == 0:
        return False
    if keyword == "additionalItems":
        return isinstance(schema.get("items"), list)
    kind = _KIND.get(keyword)
    if kind is None:
        return keyword in _ANY
    allowed = kinds(schema)
    return kind in allowed or (kind == "number" and "integer" in allowed)


def matches(value: Json, kind: str) -> bool:
    """Whether a value is of a type, by JSON Schema's name for it: `integer`, `object`, …."""
    if isinstance(value, bool):
        return kind == "boolean"
    if value is None:
        return kind == "null"
    if isinstance(value, int | float):
        whole = isinstance(value, int) or value.is_integer()
        return kind == "number" or (kind == "integer" and whole)
    named: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return kind == named[type(value)]


def violates(value: Json, keyword: str, argument: Json) -> bool:
    """Whether a value surely breaks a keyword.

    Told only of what costs little to tell: a pattern is not tried, for it may never end.
    """
    if keyword == "type":
        named = argument if isinstance(argument, list) else [argument]
        return not any(isinstance(each, str) and matches(value, each) for each in named)
    if keyword == "enum":
        return isinstance(argument, list) and value not in argument
    if keyword in _NUMBER[:4] and _is_number(value) and _is_number(argument):
        return not {
            "minimum": value >= argument,
            "maximum": value <= argument,
            "exclusiveMinimum": value > argument,
            "exclusiveMaximum": value < argument,
        }[keyword]
    if keyword in _SIZES and isinstance(value, _SIZES[keyword]) and isinstance(argument, int):
        size = len(value)
        return size > argument if keyword.startswith("max") else size < argument
    return False


_SIZES: dict[str, type[str] | type[list[Json]] | type[dict[str, Json]]] = {
    "minLength": str,
    "maxLength": str,
    "minItems": list,
    "maxItems": list,
    "minProperties": dict,
    "maxProperties": dict,
}


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def depth_of(value: Json) -> int:
    """How many objects and arrays stand in one another, told without recursion."""
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        each, depth = waiting.pop()
        if isinstance(each, dict | list):
            deepest = max(deepest, depth)
            inside = each.values() if isinstance(each, dict) else each
            waiting += [(one, depth + 1) for one in inside]
    return deepest
