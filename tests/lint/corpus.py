"""Made-up schemas, and output that fits each of them or breaks one keyword of it.

What a decoder makes of a schema shows in what its matcher lets through: a keyword is ignored where
output is accepted that breaks that keyword and nothing else.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

__all__ = ["CORPUS", "Entry"]

Schema = dict[str, Any] | bool


@dataclass(frozen=True)
class Entry:
    """One schema."""

    name: str
    schema: Schema
    fits: tuple[str, ...] = ()
    """Output that fits."""
    breaks: dict[str, str] = field(default_factory=dict)
    """Keyword → output that breaks it and nothing else. The keyword may stand in several places of
    the schema."""
    hostile: bool = False
    """It is written to do harm, or is no schema at all."""


def _object(required: tuple[str, ...] | None = None, /, **properties: Schema) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = _object(inside=schema)
    return schema


def _any_of(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {"anyOf": [schema, {"type": "null"}]}
    return schema


def _chain(length: int) -> dict[str, Any]:
    names = [f"link{number}" for number in range(length)]
    links = {name: {"$ref": f"#/$defs/{after}"} for name, after in pairwise(names)}
    return {"$ref": f"#/$defs/{names[0]}", "$defs": {**links, names[-1]: {"type": "integer"}}}


def _deep_json(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"inside": value}
    return value


_TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "nodes": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name", "nodes"],
            "additionalProperties": False,
        }
    },
}
_REF = {"$defs": {"port": {"type": "integer"}}}
_CARGO = {"type": "string", "enum": ["coal", "grain"]}

_PLAIN = (
    Entry("flat", _object(a={"type": "integer"}), ('{"a":1}',), {"type": '{"a":"x"}'}),
    Entry(
        "closed",
        _object(a={"type": "integer"}),
        ('{"a":1}',),
        {"additionalProperties": '{"a":1,"b":2}'},
    ),
    Entry(
        "required",
        _object(("b",), a={"type": "integer"}, b={"type": "integer"}),
        ('{"a":1,"b":2}', '{"b":2}'),
        {"required": '{"a":1}'},
    ),
    Entry(
        "open",
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        ('{"a":1}',),
    ),
    Entry(
        "described",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Berth",
            "description": "A berth.",
            "type": "object",
            "properties": {"a": {"type": "integer", "default": 1, "examples": [2]}},
            "required": ["a"],
            "additionalProperties": False,
        },
        ('{"a":1}',),
        {"type": '{"a":"x"}'},
    ),
    Entry("enum", _object(a=_CARGO), ('{"a":"coal"}',), {"enum": '{"a":"iron"}'}),
    Entry(
        "enum-of-numbers",
        _object(a={"enum": [1, 2]}),
        ('{"a":2}',),
        {"enum": '{"a":3}'},
    ),
    Entry(
        "enum-of-kinds",
        _object(a={"enum": [1, "two", None, True]}),
        ('{"a":1}', '{"a":"two"}', '{"a":null}'),
        {"enum": '{"a":"three"}'},
    ),
    Entry("const", _object(a={"const": "coal"}), ('{"a":"coal"}',), {"const": '{"a":"iron"}'}),
    Entry(
        "enum-beside-a-length",
        _object(a={"type": "string", "enum": ["coal", "oil"], "maxLength": 3}),
        ('{"a":"oil"}',),
        {"maxLength": '{"a":"coal"}', "enum": '{"a":"tin"}'},
    ),
    Entry(
        "kinds",
        _object(a={"type": ["integer", "null"]}),
        ('{"a":1}', '{"a":null}'),
        {"type": '{"a":"x"}'},
    ),
    Entry(
        "boolean-and-null",
        _object(a={"type": "boolean"}, b={"type": "null"}),
        ('{"a":true,"b":null}',),
        {"type": '{"a":1,"b":null}'},
    ),
    Entry("no-type", _object(a={}), ('{"a":1}', '{"a":"x"}')),
    Entry("true-inside", _object(a=True), ('{"a":1}', '{"a":"x"}')),
    Entry(
        "described-only",
        _object(a={"description": "Anything."}),
        ('{"a":1}', '{"a":"x"}'),
    ),
)

_NUMBERS = (
    Entry(
        "minimum",
        _object(a={"type": "integer", "minimum": 3}),
        ('{"a":3}',),
        {"minimum": '{"a":2}'},
    ),
    Entry(
        "maximum",
        _object(a={"type": "integer", "maximum": 3}),
        ('{"a":3}',),
        {"maximum": '{"a":4}'},
    ),
    Entry(
        "exclusive-bounds",
        _object(a={"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 6}),
        ('{"a":4}',),
        {"exclusiveMinimum": '{"a":3}', "exclusiveMaximum": '{"a":6}'},
    ),
    Entry(
        "bounds-of-a-number",
        _object(a={"type": "number", "minimum": 0, "maximum": 1}),
        ('{"a":0.5}',),
        {"minimum": '{"a":-0.5}', "maximum": '{"a":1.5}'},
    ),
    Entry(
        "multiple-of",
        _object(a={"type": "integer", "multipleOf": 5}),
        ('{"a":10}',),
        {"multipleOf": '{"a":11}'},
    ),
    Entry(
        "multiple-of-a-number",
        _object(a={"type": "number", "multipleOf": 0.5}),
        ('{"a":1.5}',),
        {"multipleOf": '{"a":1.7}'},
    ),
    Entry(
        "multiple-of-with-one-bound",
        _object(a={"type": "integer", "minimum": 0, "multipleOf": 5}),
        ('{"a":10}',),
        {"multipleOf": '{"a":11}', "minimum": '{"a":-5}'},
    ),
    Entry(
        "multiple-of-in-a-range",
        _object(a={"type": "integer", "minimum": 0, "maximum": 50, "multipleOf": 5}),
        ('{"a":10}',),
        {"multipleOf": '{"a":11}', "maximum": '{"a":55}'},
    ),
    Entry(
        "large-multiple-of",
        _object(a={"type": "integer", "multipleOf": 5000}),
        ('{"a":10000}',),
        {"multipleOf": '{"a":10001}'},
    ),
)

_STRINGS = (
    Entry(
        "lengths",
        _object(a={"type": "string", "minLength": 2, "maxLength": 3}),
        ('{"a":"xy"}',),
        {"minLength": '{"a":"x"}', "maxLength": '{"a":"wxyz"}'},
    ),
    Entry(
        "pattern",
        _object(a={"type": "string", "pattern": "^[a-c]+$"}),
        ('{"a":"abc"}',),
        {"pattern": '{"a":"xyz"}'},
    ),
    Entry(
        "pattern-without-anchors",
        _object(a={"type": "string", "pattern": "[a-c]+"}),
        ('{"a":"abc"}',),
        {"pattern": '{"a":"xyz"}'},
    ),
    Entry(
        "pattern-and-length",
        _object(a={"type": "string", "pattern": "^[a-c]+$", "maxLength": 3}),
        ('{"a":"abc"}',),
        {"pattern": '{"a":"xyz"}', "maxLength": '{"a":"abca"}'},
    ),
    Entry(
        "pattern-and-format",
        _object(a={"type": "string", "format": "date", "pattern": "^2026"}),
        ('{"a":"2026-11-29"}',),
        {"pattern": '{"a":"2027-11-29"}', "format": '{"a":"2026"}'},
    ),
    Entry(
        "format-and-length",
        _object(a={"type": "string", "format": "email", "maxLength": 10}),
        ('{"a":"a@tern.org"}',),
        {"format": '{"a":"tern"}', "maxLength": '{"a":"abcdef@tern.org"}'},
    ),
    *(
        Entry(
            f"format-{name}",
            _object(a={"type": "string", "format": name}),
            (f'{{"a":"{good}"}}',),
            {"format": f'{{"a":"{bad}"}}'},
        )
        for name, good, bad in (
            ("date-time", "2026-11-29T12:30:00Z", "noon"),
            ("date", "2026-11-29", "today"),
            ("time", "12:30:00Z", "noon"),
            ("duration", "P1D", "a day"),
            ("email", "ada@tern.org", "ada"),
            ("hostname", "tern.org", "-"),
            ("ipv4", "10.0.0.1", "ten"),
            ("ipv6", "2001:db8::1", "ten"),
            ("uuid", "0b5ce1d2-6f0e-4c7a-9a64-1f0e8d2b7c55", "0b5c"),
            ("uri", "https://tern.org/a", "no uri"),
            ("uri-reference", "/a/b", "no uri <"),
            ("iri", "https://tern.org/a", "no iri <"),
            ("regex", "a+", "("),
            ("json-pointer", "/a/0", "a b"),
            ("int64", "12", "twelve"),
            ("path", "/a", ""),
        )
    ),
    Entry(
        "format-of-an-integer",
        _object(a={"type": "integer", "format": "int64"}),
        ('{"a":1}',),
        {"type": '{"a":"x"}'},
    ),
    Entry(
        "lookahead",
        _object(a={"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]+$"}),
        ('{"a":"a1"}',),
        {"pattern": '{"a":"ab"}'},
    ),
    Entry(
        "word-class",
        _object(a={"type": "string", "pattern": r"^\w+\d{2}$"}),
        ('{"a":"ab12"}',),
        {"pattern": '{"a":"ab1"}'},
    ),
    Entry(
        "content",
        _object(a={"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}),
        ('{"a":"QQ=="}',),
    ),
)

_ARRAYS = (
    Entry(
        "items",
        _object(a={"type": "array", "items": {"type": "integer"}}),
        ('{"a":[1,2]}', '{"a":[]}'),
        {"items": '{"a":["x"]}'},
    ),
    Entry(
        "counts",
        _object(a={"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}),
        ('{"a":[1,2]}',),
        {"minItems": '{"a":[1]}', "maxItems": '{"a":[1,2,3,4]}'},
    ),
    Entry(
        "unique",
        _object(a={"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        ('{"a":[1,2]}',),
        {"uniqueItems": '{"a":[1,1]}'},
    ),
    Entry(
        "contains",
        _object(a={"type": "array", "items": {"type": "integer"}, "contains": {"const": 7}}),
        ('{"a":[7]}',),
        {"contains": '{"a":[1]}'},
    ),
    Entry(
        "tuple",
        _object(
            a={"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
        ),
        ('{"a":[1,"x"]}',),
        {"prefixItems": '{"a":["x",1]}'},
    ),
    Entry(
        "closed-tuple",
        _object(
            a={
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
            },
        ),
        ('{"a":[1,"x"]}',),
        {"items": '{"a":[1,"x",2]}', "minItems": '{"a":[1]}'},
    ),
    Entry(
        "old-tuple",
        _object(a={"type": "array", "items": [{"type": "integer"}], "additionalItems": False}),
        ('{"a":[1]}',),
        {"items": '{"a":["x"]}', "additionalItems": '{"a":[1,2]}'},
    ),
    Entry("no-items", _object(a={"type": "array"}), ('{"a":[]}', '{"a":[1,"x"]}')),
)

_OBJECTS = (
    Entry(
        "map",
        _object(a={"type": "object", "additionalProperties": {"type": "integer"}}),
        ('{"a":{"x":1}}',),
        {"additionalProperties": '{"a":{"x":"y"}}'},
    ),
    Entry(
        "map-beside-properties",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "required": ["a"],
            "additionalProperties": {"type": "integer"},
        },
        ('{"a":1}', '{"a":1,"x":2}'),
        {"additionalProperties": '{"a":1,"x":"y"}'},
    ),
    Entry(
        "pattern-properties",
        _object(
            a={
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}},
                "additionalProperties": False,
            }
        ),
        ('{"a":{"x1":1}}',),
        {"patternProperties": '{"a":{"x1":"y"}}', "additionalProperties": '{"a":{"z":1}}'},
    ),
    Entry(
        "property-names",
        _object(a={"type": "object", "propertyNames": {"pattern": "^x[0-9]$"}}),
        ('{"a":{"x1":1}}',),
        {"propertyNames": '{"a":{"z":1}}'},
    ),
    Entry(
        "property-names-of-type",
        _object(
            a={
                "type": "object",
                "propertyNames": {"type": "string"},
                "additionalProperties": {"type": "string"},
            }
        ),
        ('{"a":{"x":"y"}}',),
        {"additionalProperties": '{"a":{"x":1}}'},
    ),
    Entry(
        "property-counts",
        _object(
            a={
                "type": "object",
                "additionalProperties": {"type": "integer"},
                "minProperties": 1,
                "maxProperties": 2,
            }
        ),
        ('{"a":{"x":1}}',),
        {"minProperties": '{"a":{}}', "maxProperties": '{"a":{"x":1,"y":2,"z":3}}'},
    ),
    Entry(
        "dependent-required",
        {
            **_object((), a={"type": "integer"}, b={"type": "integer"}),
            "dependentRequired": {"a": ["b"]},
        },
        ('{"a":1,"b":2}', '{"b":2}'),
        {"dependentRequired": '{"a":1}'},
    ),
    Entry(
        "dependent-schemas",
        {
            **_object((), a={"type": "integer"}, b={"type": "integer"}),
            "dependentSchemas": {"a": {"required": ["b"]}},
        },
        ('{"a":1,"b":2}',),
        {"dependentSchemas": '{"a":1}'},
    ),
    Entry(
        "unevaluated",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "required": ["a"],
            "unevaluatedProperties": False,
        },
        ('{"a":1}',),
        {"unevaluatedProperties": '{"a":1,"b":2}'},
    ),
)

_COMBINED = (
    Entry(
        "any-of",
        _object(a={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ('{"a":1}', '{"a":null}'),
        {"anyOf": '{"a":"x"}'},
    ),
    Entry(
        "any-of-beside-type",
        _object(a={"type": "string", "anyOf": [{"minLength": 2}, {"const": "x"}]}),
        ('{"a":"xy"}',),
        {"type": '{"a":5}'},
    ),
    Entry(
        "one-of-kinds",
        _object(a={"oneOf": [{"type": "integer"}, {"type": "string"}]}),
        ('{"a":1}', '{"a":"x"}'),
        {"oneOf": '{"a":null}'},
    ),
    Entry(
        "one-of-overlapping",
        _object(a={"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]}),
        ('{"a":1}',),
        {"oneOf": '{"a":7}'},
    ),
    Entry(
        "one-of-objects",
        {
            "oneOf": [
                _object(kind={"const": "ship"}, length={"type": "integer"}),
                _object(kind={"const": "buoy"}, depth={"type": "integer"}),
            ]
        },
        ('{"kind":"ship","length":9}', '{"kind":"buoy","depth":2}'),
        {"oneOf": '{"kind":"ship","depth":2}'},
    ),
    Entry(
        "all-of-one",
        _object(a={"allOf": [{"type": "integer"}]}),
        ('{"a":1}',),
        {"allOf": '{"a":"x"}'},
    ),
    Entry(
        "all-of-two",
        _object(a={"allOf": [{"type": "integer", "minimum": 2}, {"maximum": 5}]}),
        ('{"a":3}',),
        {"allOf": '{"a":9}'},
    ),
    Entry(
        "all-of-objects",
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
            ]
        },
        ('{"a":1,"b":2}',),
        {"allOf": '{"a":1}'},
    ),
    Entry(
        "all-of-with-conditions",
        {
            "type": "object",
            "properties": {"mode": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["mode"],
            "allOf": [
                {
                    "if": {"properties": {"mode": {"const": "batch"}}},
                    "then": {"required": ["limit"]},
                }
            ],
        },
        ('{"mode":"batch","limit":1}',),
    ),
    Entry(
        "not",
        _object(a={"type": "integer", "not": {"const": 3}}),
        ('{"a":4}',),
        {"not": '{"a":3}'},
    ),
    Entry(
        "if-then",
        {
            **_object(("a",), a={"type": "integer"}, b={"type": "integer"}),
            "if": {"properties": {"a": {"const": 1}}},
            "then": {"required": ["b"]},
        },
        ('{"a":1,"b":2}', '{"a":2}'),
        {"then": '{"a":1}'},
    ),
    Entry(
        "if-else",
        {
            **_object(("a",), a={"type": "integer"}, b={"type": "integer"}),
            "if": {"properties": {"a": {"const": 1}}},
            "else": {"required": ["b"]},
        },
        ('{"a":1}', '{"a":2,"b":2}'),
        {"else": '{"a":2}'},
    ),
)

_REFERENCES = (
    Entry(
        "ref",
        {**_object(a={"$ref": "#/$defs/port"}), **_REF},
        ('{"a":1}',),
        {"$ref": '{"a":"x"}'},
    ),
    Entry(
        "ref-definitions",
        {**_object(a={"$ref": "#/definitions/port"}), "definitions": {"port": {"type": "integer"}}},
        ('{"a":1}',),
        {"$ref": '{"a":"x"}'},
    ),
    Entry(
        "ref-with-siblings",
        {**_object(a={"$ref": "#/$defs/port", "minimum": 5}), **_REF},
        ('{"a":7}',),
        {"$ref": '{"a":"x"}', "minimum": '{"a":1}'},
    ),
    Entry(
        "ref-to-a-property",
        _object(a={"type": "integer"}, b={"$ref": "#/properties/a"}),
        ('{"a":1,"b":2}',),
        {"$ref": '{"a":1,"b":"x"}'},
    ),
    Entry(
        "tree", _TREE, ('{"name":"x","nodes":[]}', '{"name":"x","nodes":[{"name":"y","nodes":[]}]}')
    ),
)

_HOSTILE = (
    Entry("deep", _nested(40), (), {}, hostile=True),
    Entry("very-deep", _nested(150), (), {}, hostile=True),
    Entry("deep-any-of", _any_of(25), ("1", "null"), {"anyOf": '"x"'}, hostile=True),
    Entry("long-chain-of-refs", _chain(60), ("1",), {"$ref": '"x"'}, hostile=True),
    Entry(
        "many-values",
        _object(a={"enum": [f"ship-{number}" for number in range(2000)]}),
        ('{"a":"ship-7"}',),
        {"enum": '{"a":"ship-x"}'},
        hostile=True,
    ),
    Entry(
        "many-properties",
        _object((), **{f"p{number}": {"type": "integer"} for number in range(60)}),
        ('{"p0":1}',),
        {"type": '{"p0":"x"}'},
        hostile=True,
    ),
    Entry(
        "million-items",
        _object(a={"type": "array", "items": {"type": "integer"}, "maxItems": 1_000_000}),
        ('{"a":[1]}',),
        {"items": '{"a":["x"]}'},
        hostile=True,
    ),
    Entry(
        "million-characters",
        _object(a={"type": "string", "maxLength": 1_000_000}),
        ('{"a":"x"}',),
        {"type": '{"a":1}'},
        hostile=True,
    ),
    Entry(
        "nested-quantifiers",
        _object(a={"type": "string", "pattern": "^(a+)+$"}),
        ('{"a":"aaa"}',),
        {"pattern": '{"a":"aab"}'},
        hostile=True,
    ),
    Entry(
        "overlapping-alternatives",
        _object(a={"type": "string", "pattern": "^(a|aa|aaa)*b$"}),
        ('{"a":"aab"}',),
        {"pattern": '{"a":"aac"}'},
        hostile=True,
    ),
    Entry(
        "states-explode",
        _object(a={"type": "string", "pattern": "^[ab]*a[ab]{12}$"}),
        ('{"a":"abbbbbbbbbbbb"}',),
        {"pattern": '{"a":"bbbbbbbbbbbbb"}'},
        hostile=True,
    ),
    Entry(
        "repeated-repeats",
        _object(a={"type": "string", "pattern": "^((a{1,20}){1,20}){1,20}$"}),
        ('{"a":"aa"}',),
        {"pattern": '{"a":"b"}'},
        hostile=True,
    ),
    Entry(
        "backreference",
        _object(a={"type": "string", "pattern": r"^(a|b)\1$"}),
        ('{"a":"aa"}',),
        {"pattern": '{"a":"ab"}'},
        hostile=True,
    ),
    Entry(
        "lookbehind",
        _object(a={"type": "string", "pattern": "^a(?<=a)b$"}),
        ('{"a":"ab"}',),
        {},
        hostile=True,
    ),
    Entry(
        "unicode-property",
        _object(a={"type": "string", "pattern": r"^\p{L}+$"}),
        ('{"a":"abc"}',),
        {"pattern": '{"a":"123"}'},
        hostile=True,
    ),
    Entry(
        "broken-pattern",
        _object(a={"type": "string", "pattern": "^(a"}),
        (),
        {},
        hostile=True,
    ),
    Entry("circle", {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, hostile=True),
    Entry(
        "circle-of-two",
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        },
        hostile=True,
    ),
    Entry("itself", {"$ref": "#"}, hostile=True),
    Entry(
        "endless-object",
        {
            "type": "object",
            "properties": {"next": {"$ref": "#"}},
            "required": ["next"],
            "additionalProperties": False,
        },
        hostile=True,
    ),
    Entry(
        "circle-in-all-of",
        {"allOf": [{"$ref": "#"}, {"type": "object"}]},
        hostile=True,
    ),
    Entry(
        "remote-ref",
        _object(a={"$ref": "https://tern.example/port.json"}),
        (),
        {},
        hostile=True,
    ),
    Entry("file-ref", _object(a={"$ref": "file:///etc/passwd"}), (), {}, hostile=True),
    Entry("relative-ref", _object(a={"$ref": "port.json#/a"}), (), {}, hostile=True),
    Entry("dangling-ref", _object(a={"$ref": "#/$defs/none"}), (), {}, hostile=True),
    Entry(
        "anchor-ref",
        {
            **_object(a={"$ref": "#port"}),
            "$defs": {"port": {"$anchor": "port", "type": "integer"}},
        },
        ('{"a":1}',),
        {"$ref": '{"a":"x"}'},
        hostile=True,
    ),
    Entry(
        "escaped-ref",
        {**_object(a={"$ref": "#/$defs/a~1b"}), "$defs": {"a/b": {"type": "integer"}}},
        ('{"a":1}',),
        {"$ref": '{"a":"x"}'},
        hostile=True,
    ),
    Entry("bounds-cross", _object(a={"type": "integer", "minimum": 5, "maximum": 3}), hostile=True),
    Entry(
        "number-bounds-cross",
        _object(a={"type": "number", "minimum": 5.5, "maximum": 3}),
        hostile=True,
    ),
    Entry(
        "lengths-cross", _object(a={"type": "string", "minLength": 5, "maxLength": 3}), hostile=True
    ),
    Entry(
        "counts-cross",
        _object(a={"type": "array", "items": {"type": "integer"}, "minItems": 5, "maxItems": 3}),
        hostile=True,
    ),
    Entry("negative-length", _object(a={"type": "string", "minLength": -1}), hostile=True),
    Entry("length-as-text", _object(a={"type": "string", "maxLength": "9"}), hostile=True),
    Entry("fractional-length", _object(a={"type": "string", "maxLength": 9.5}), hostile=True),
    Entry("minimum-as-text", _object(a={"type": "integer", "minimum": "9"}), hostile=True),
    Entry("unknown-type", _object(a={"type": "decimal"}), hostile=True),
    Entry("type-as-number", _object(a={"type": 7}), hostile=True),
    Entry("no-types", _object(a={"type": []}), hostile=True),
    Entry("empty-enum", _object(a={"enum": []}), hostile=True),
    Entry("enum-as-text", _object(a={"enum": "coal"}), hostile=True),
    Entry("empty-any-of", _object(a={"anyOf": []}), hostile=True),
    Entry("any-of-as-object", _object(a={"anyOf": {"type": "integer"}}), hostile=True),
    Entry("properties-as-list", {"type": "object", "properties": ["a"]}, hostile=True),
    Entry("required-as-text", {**_object(a={"type": "integer"}), "required": "a"}, hostile=True),
    Entry(
        "required-but-closed",
        {**_object(a={"type": "integer"}), "required": ["a", "b"]},
        hostile=True,
    ),
    Entry("false", False, hostile=True),
    Entry(
        "false-inside", _object(("b",), a=False, b={"type": "integer"}), ('{"b":1}',), hostile=True
    ),
    Entry("false-required", _object(a=False), hostile=True),
    Entry("schema-as-text", _object(a="integer"), hostile=True),  # type: ignore[arg-type]
    Entry(
        "unknown-keyword",
        _object(a={"type": "integer", "x-tern-unit": "m"}),
        ('{"a":1}',),
        {"type": '{"a":"x"}'},
    ),
    Entry(
        "misspelt-keyword",
        _object(a={"type": "string", "maxLenght": 3}),
        ('{"a":"x"}',),
        {"type": '{"a":1}'},
    ),
    Entry(
        "const-object",
        _object(a={"const": {"x": [1]}}),
        ('{"a":{"x":[1]}}',),
        {"const": '{"a":{"x":[2]}}'},
        hostile=True,
    ),
    Entry(
        "enum-of-objects",
        _object(a={"enum": [{"x": 1}, [2]]}),
        ('{"a":{"x":1}}',),
        {"enum": '{"a":{"x":2}}'},
        hostile=True,
    ),
    Entry(
        "kinds-that-contradict",
        _object(a={"allOf": [{"type": "integer"}, {"type": "string"}]}),
        hostile=True,
    ),
    Entry(
        "enum-against-type",
        _object(a={"type": "integer", "enum": ["coal"]}),
        (),
        {"type": '{"a":"coal"}'},
        hostile=True,
    ),
    Entry(
        "huge-bounds",
        _object(a={"type": "integer", "minimum": -(10**30), "maximum": 10**30}),
        ('{"a":1}',),
        hostile=True,
    ),
    Entry("zero-multiple-of", _object(a={"type": "integer", "multipleOf": 0}), hostile=True),
    Entry(
        "terminal-escapes",
        _object(**{"\x1b[31m\u202e": {"type": "integer"}}),
        ('{"\\u001b[31m\\u202e":1}',),
        hostile=True,
    ),
    Entry("lone-surrogate", _object(a={"const": "\ud800"}), hostile=True),
)

_MORE = (
    Entry("minimum-without-type", _object(a={"minimum": 3}), ('{"a":3}',), {"minimum": '{"a":1}'}),
    Entry(
        "pattern-without-type",
        _object(a={"pattern": "^a$"}),
        ('{"a":"a"}',),
        {"pattern": '{"a":"x"}'},
    ),
    Entry(
        "required-without-type",
        _object(a={"required": ["b"]}),
        ('{"a":{"b":1}}',),
        {"required": '{"a":{}}'},
    ),
    Entry(
        "least-items-without-items",
        _object(a={"type": "array", "minItems": 1}),
        (),
        {"minItems": '{"a":[]}'},
    ),
    Entry(
        "most-items-without-items",
        _object(a={"type": "array", "maxItems": 2}),
        ('{"a":[]}',),
        {"maxItems": '{"a":[1,2,3]}'},
    ),
    Entry(
        "least-properties-of-any",
        _object(a={"type": "object", "minProperties": 1}),
        (),
        {"minProperties": '{"a":{}}'},
    ),
    Entry(
        "required-not-named",
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "b"]},
        (),
        {"required": '{"a":1}'},
    ),
    Entry(
        "required-not-named-but-open",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": True,
        },
        (),
        {"required": '{"a":1}'},
    ),
    Entry(
        "properties-beside-any-of",
        {
            **_object((), a={"type": "integer"}, b={"type": "integer"}),
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        ('{"a":1}',),
        {"properties": '{"a":"x"}', "additionalProperties": '{"a":1,"c":1}', "type": "[1]"},
    ),
    Entry(
        "properties-beside-one-of",
        {
            **_object((), a={"type": "integer"}, b={"type": "integer"}),
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        (),
        {"properties": '{"a":"x"}', "type": "[1]"},
    ),
    Entry(
        "all-of-beside-bounds",
        _object(a={"type": "integer", "minimum": 5, "allOf": [{"maximum": 9}]}),
        ('{"a":7}',),
        {"minimum": '{"a":1}'},
    ),
    Entry(
        "all-of-a-reference-described",
        {**_object(a={"allOf": [{"$ref": "#/$defs/port"}], "description": "A port."}), **_REF},
        ('{"a":7}',),
        {"allOf": '{"a":"x"}'},
    ),
    Entry("all-of-nothing", _object(a={"allOf": []}), ('{"a":7}',), {}, hostile=True),
    Entry(
        "tuple-of-anything",
        _object(a={"type": "array", "prefixItems": [True]}),
        ('{"a":[1]}',),
        {},
        hostile=True,
    ),
    Entry(
        "min-contains",
        _object(
            a={
                "type": "array",
                "items": {"type": "integer"},
                "contains": {"const": 1},
                "minContains": 2,
            }
        ),
        ('{"a":[1,1]}',),
        {"contains": '{"a":[2,2]}'},
    ),
    Entry(
        "unevaluated-items",
        _object(
            a={"type": "array", "prefixItems": [{"type": "integer"}], "unevaluatedItems": False}
        ),
        ('{"a":[1]}',),
        {"unevaluatedItems": '{"a":[1,2]}'},
    ),
    Entry(
        "one-of-references",
        {
            "oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}],
            "$defs": {"a": {"type": "string"}, "b": {"type": "null"}},
        },
        ("null", '"x"'),
        {},
    ),
    Entry("one-of-values", {"oneOf": [{"const": 1}, {"enum": [2, 3]}]}, ("1", "2"), {"oneOf": "4"}),
    Entry("one-of-one", {"oneOf": [{"type": "string"}]}, ('"x"',), {"oneOf": "1"}),
    Entry(
        "one-of-text-or-null",
        {"oneOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]},
        ('"x"', "null"),
        {},
    ),
    Entry(
        "least-of-optional-properties",
        _object(
            a={**_object((), x={"type": "integer"}, y={"type": "integer"}), "minProperties": 1}
        ),
        ('{"a":{"x":1}}',),
        {"minProperties": '{"a":{}}'},
    ),
    Entry(
        "two-of-optional-properties",
        _object(
            a={
                **_object((), x={"type": "integer"}, y={"type": "integer"}, z={"type": "integer"}),
                "minProperties": 2,
            }
        ),
        ('{"a":{"x":1,"y":1}}',),
        {"minProperties": '{"a":{"x":1}}'},
    ),
    Entry(
        "patterns-of-names-that-overlap",
        _object(
            a={
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}, "y$": {"type": "string"}},
            }
        ),
        (),
        {},
        hostile=True,
    ),
    Entry(
        "patterns-of-names-apart",
        _object(
            a={
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}, "^y": {"type": "string"}},
            }
        ),
        ('{"a":{"x":1}}',),
        {},
    ),
    Entry(
        "dependencies",
        {**_object((), a={"type": "integer"}, b={"type": "integer"}), "dependencies": {"a": ["b"]}},
        ('{"a":1,"b":2}',),
        {"dependencies": '{"a":1}'},
    ),
    Entry(
        "names-in-an-old-draft",
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            **_object(
                a={
                    "type": "object",
                    "additionalProperties": {"type": "integer"},
                    "propertyNames": {"pattern": "^x$"},
                }
            ),
        },
        ('{"a":{"x":1}}',),
        {"propertyNames": '{"a":{"z":1}}'},
    ),
    Entry(
        "conditions-in-draft-7",
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            **_object(a={"type": "integer", "if": {"minimum": 3}, "then": {"maximum": 5}}),
        },
        ('{"a":4}',),
        {"then": '{"a":9}'},
    ),
    Entry(
        "draft-of-its-own",
        {"$schema": "https://tern.example/schema", **_object(a={"type": "integer"})},
        (),
        {"type": '{"a":"x"}'},
        hostile=True,
    ),
    Entry("dynamic-reference", _object(a={"$dynamicRef": "#port"}), (), {}, hostile=True),
    Entry(
        "text-nested-124-deep",
        {"type": "integer", "x-tern": _deep_json(122)},
        ("1",),
        {},
        hostile=True,
    ),
    Entry(
        "text-nested-125-deep",
        {"type": "integer", "x-tern": _deep_json(123)},
        ("1",),
        {},
        hostile=True,
    ),
    Entry(
        "enum-of-numbers-beside-text",
        _object(a={"type": "string", "enum": ["1", "2"]}),
        ('{"a":"1"}',),
        {"enum": '{"a":"3"}'},
    ),
    Entry(
        "kinds-with-bounds",
        _object(a={"type": ["integer", "null"], "minimum": 3}),
        ('{"a":3}', '{"a":null}'),
        {"minimum": '{"a":1}'},
    ),
    Entry(
        "kinds-with-pattern",
        _object(a={"type": ["string", "null"], "pattern": "^a$"}),
        ('{"a":"a"}',),
        {"pattern": '{"a":"x"}'},
    ),
    Entry(
        "nullable-reference",
        {
            **_object(
                a={
                    "anyOf": [{"$ref": "#/$defs/port"}, {"type": "null"}],
                    "default": None,
                    "title": "A",
                }
            ),
            **_REF,
        },
        ('{"a":1}', '{"a":null}'),
        {"anyOf": '{"a":"x"}'},
    ),
)

_EXPRESSIONS = (
    r"^\bfoo\b$",
    r"^(?<n>a)b$",
    r"^(?i)abc$",
    r"^(?i:abc)$",
    r"^a+?b$",
    r"^a{2,}$",
    r"^[^\s]+$",
    r"^\S+$",
    r"^a|b$",
    r"^(a)(?!b)c$",
    r"^(?!foo)a$",
    r"a(?=b)",
    r"^[\w-]+$",
    r"^\u0041$",
    r"^\x41$",
    r"^[[:alpha:]]$",
    r"^\cA$",
    r"^\/a$",
    r"^(?:a|b)*$",
    r"a$b",
    r"^.$",
    r"^\d{3}-\d{4}$",
    r"^a\-b$",
    r"^\k<n>$",
    r"^[a-z]*+$",
    r"^[]a]$",
    r"^a{,3}$",
    r"^a{3,1}$",
    r"^\Aab\Z$",
    r"^\p{Lu}$",
    r"^*a$",
    r"^a**$",
    "^é$",
    r"^\-$",
    r"^\_$",
    r"^[\d-x]$",
    r"^a{1001}$",
    r"^\h$",
    r"^(^a)$",
    r"^(a$|b$)$",
    r"^[\p{L}]+$",
    r"^[\b]$",
    r"^\Ba$",
    r"^\0$",
    r"^\12$",
    r"(^a$)",
    r"^a$|^b$",
    r"^(?:a)$",
    r"^(?P<n>a)$",
    r"^(?>a)$",
    r"^(?#c)a$",
    r"^a\z$",
    r"^\G$",
    r"\.(png|jpg)$",
    r"^[^/]+\.md$",
    r"^$",
    r"^(?s).*$",
    r"^[a-\d]$",
    r"^[z-a]$",
    r"^a)$",
    r"^a]$",
    r"^a}$",
    r"^a{$",
    r"^a{x}$",
    r"^\d{1,3}(\.\d{1,3}){3}$",
    r"^\u{1F600}$",
    r"^[\u4e00-\u9fa5]+$",
    r"^\D\W$",
    r"^(a|)$",
    r"^()$",
    r"^(?:)$",
    r"^a|$",
    r"^a||b$",
    r"^.+@.+\..+$",
    r"^(a+)+b$",
    r"^\s*$",
    r"^\v$",
    r"^\Qa\E$",
    r"^a?+$",
    r"^a{0}$",
    r"^[a-z",
)
"""Patterns of which decoders read more or less."""

_PATTERNS = tuple(
    Entry(f"pattern {pattern}", _object(a={"type": "string", "pattern": pattern}), hostile=True)
    for pattern in _EXPRESSIONS
)

CORPUS = (
    *_PLAIN,
    *_NUMBERS,
    *_STRINGS,
    *_ARRAYS,
    *_OBJECTS,
    *_COMBINED,
    *_REFERENCES,
    *_HOSTILE,
    *_MORE,
    *_PATTERNS,
)
