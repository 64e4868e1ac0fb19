from typing import Any

from cachediag.lint.keywords import constrains, depth_of, kinds, matches, violates
from cachediag.lint.parts import parts
from cachediag.lint.references import MISSING, is_local, resolve


def test_parts_in_order_with_paths() -> None:
    schema = {
        "properties": {"a": {"items": {"type": "string"}}, "b c": True},
        "anyOf": [{}, {"not": {"const": 1}}],
        "enum": [{"type": "no schema"}],
        "default": {"properties": {}},
        "$defs": {"d": {}},
    }
    found = parts(schema, "tools[0].input_schema")
    assert [each.path.removeprefix("tools[0].input_schema") for each in found.all] == [
        "",
        ".properties.a",
        ".properties.a.items",
        ".anyOf[0]",
        ".anyOf[1]",
        ".anyOf[1].not",
        '["$defs"].d',
    ]
    assert found.is_whole


def test_parts_of_what_is_too_deep_or_too_wide() -> None:
    deep: Any = {}
    for _ in range(900):
        deep = {"items": deep}
    assert not parts(deep, "").is_whole
    wide: Any = {"anyOf": [{} for _ in range(30_000)]}
    found = parts(wide, "")
    assert (len(found.all), found.is_whole) == (20_000, False)


def test_references() -> None:
    root = {"$defs": {"a/b": {"x~y": [7, 8]}, "é": 1}}
    assert resolve(root, "#") is root
    assert resolve(root, "#/$defs/a~1b/x~0y/1") == 8
    assert resolve(root, "#/%24defs/%C3%A9") == 1
    assert resolve(root, "#/$defs/none") is MISSING
    assert resolve(root, "#/$defs/a~1b/x~0y/9") is MISSING
    assert [is_local(each) for each in ("#", "#/a", "#a", "a#/b", "")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_what_constrains() -> None:
    text = {"type": "string", "minimum": 3, "minLength": 0, "pattern": "a"}
    assert [word for word in text if constrains(text, word)] == ["type", "pattern"]
    array = {"type": "array", "uniqueItems": False, "items": {}, "contains": {}, "minContains": 0}
    assert [word for word in array if constrains(array, word)] == ["type", "minContains"]
    assert constrains({"then": {"const": 1}, "if": {}}, "then")
    assert not constrains({"then": {"const": 1}}, "then")
    assert constrains({"minimum": 3, "type": "integer"}, "minimum")
    assert not constrains({}, "minimum")
    assert kinds({"type": ["a", 7]}) == {"a"}


def test_values() -> None:
    assert [kind for kind in ("integer", "number", "boolean") if matches(True, kind)] == ["boolean"]
    assert [kind for kind in ("integer", "number") if matches(1.0, kind)] == ["integer", "number"]
    assert violates("abc", "maxLength", 2)
    assert violates(3, "minimum", 4)
    assert violates([1], "minItems", 2)
    assert violates(1, "type", ["string", "null"])
    # It is not tried: it may never end.
    assert not violates("b", "pattern", "^a$")
    assert not violates("b", "maxLength", "x")


def test_depth() -> None:
    values: list[Any] = [1, {}, {"a": [{}]}, [[], [[]]]]
    assert [depth_of(each) for each in values] == [0, 1, 3, 3]
