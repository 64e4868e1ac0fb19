from typing import Any

import pytest

from cachediag.lint.contradictions import contradiction

CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (False, ""),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "minimum"),
        ({"type": "number", "exclusiveMinimum": 5, "maximum": 5}, "exclusiveMinimum"),
        ({"type": "string", "minLength": 5, "maxLength": 4}, "minLength"),
        ({"type": "array", "minItems": 5, "maxItems": 4}, "minItems"),
        ({"type": "array", "minItems": 1, "items": {"enum": []}}, "items.enum"),
        ({"enum": []}, "enum"),
        ({"type": "integer", "enum": ["a", "b"]}, "enum"),
        ({"type": "integer", "const": "a"}, "const"),
        ({"enum": [1, 2], "minimum": 3}, "enum"),
        ({**CLOSED, "required": ["b"]}, "required[0]"),
        ({"type": "object", "properties": {"a": False}, "required": ["a"]}, "properties.a"),
        ({"anyOf": [{"enum": []}, False]}, "anyOf[0].enum"),
        ({"anyOf": []}, "anyOf"),
        ({"allOf": [{"type": "integer"}, {"type": "string"}]}, "allOf"),
        ({"$ref": "#/$defs/no", "$defs": {"no": {"enum": []}}}, '["$ref"]'),
    ],
)
def test_nothing_fits(schema, path) -> None:
    found = contradiction(schema, schema)
    assert found is not None
    assert found.path == path
    assert found.why


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "integer", "minimum": 4, "maximum": 4},
        {"type": ["integer", "string"], "minimum": 5, "maximum": 4},
        {"minimum": 5, "maximum": 4},
        {"type": "object", "properties": {"a": False}},
        {"type": "array", "items": False},
        {"type": "array", "minItems": 1, "items": False, "prefixItems": [{}]},
        {**CLOSED, "required": ["a"]},
        {**CLOSED, "required": ["b"], "patternProperties": {"^b": {}}},
        {"type": "string", "enum": [1, "a"]},
        {"anyOf": [False, {}]},
        {"allOf": [{"type": "integer"}, {"type": "number"}]},
        {"$ref": "#"},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://tern.example/x"},
        {"type": "integer", "minimum": "x", "maximum": None},
    ],
)
def test_something_may_fit(schema) -> None:
    assert contradiction(schema, schema) is None


def test_depth_ends_the_search() -> None:
    schema: Any = {"enum": []}
    for _ in range(800):
        schema = {"type": "array", "minItems": 1, "items": schema}
    assert contradiction(schema, schema) is None
