"""How xgrammar and llguidance tell branches of a `oneOf` apart."""

import pytest

from cachediag.lint.decoders.disjoint import are_disjoint
from cachediag.lint.decoders.exclusive import exclude

SHIP = {"type": "object", "properties": {"kind": {"const": "ship"}}, "required": ["kind"]}
BUOY = {"type": "object", "properties": {"kind": {"const": "buoy"}}, "required": ["kind"]}
LOOSE = {**BUOY, "required": []}


@pytest.mark.parametrize(
    ("a", "b", "by_xgrammar", "by_llguidance"),
    [
        ({"type": "string"}, {"type": "null"}, True, True),
        ({"type": "string", "title": "A"}, {"type": "null"}, True, True),
        ({"type": "string", "maxLength": 2}, {"type": "null"}, False, True),
        ({"type": "integer"}, {"type": "number"}, False, False),
        ({"type": ["string", "null"]}, {"type": "integer"}, True, True),
        ({"const": "a"}, {"const": "b"}, True, True),
        ({"const": 1}, {"const": 2}, True, False),
        ({"enum": ["a", "b"]}, {"enum": ["c"]}, True, True),
        ({"enum": ["a", "b"]}, {"enum": ["b"]}, False, False),
        (SHIP, BUOY, True, True),
        (SHIP, SHIP, False, False),
        (SHIP, {"type": "string"}, False, True),
        ({"$ref": "#/a"}, {"type": "string"}, False, False),
        ({}, {"type": "string"}, False, False),
        (True, {"type": "string"}, False, False),
        (False, {"type": "string"}, False, True),
        ({"const": True}, {"const": False}, True, True),
        ({"const": 1}, {"const": "a"}, True, True),
        ({"const": 1}, {"type": "string"}, True, True),
        ({"const": 1}, {"type": "integer"}, False, False),
        ({"const": 1.5}, {"type": "number"}, False, False),
        ({"enum": [True, "a"]}, {"type": "number"}, True, True),
        ({"enum": [True, "a"]}, {"type": ["string", "null"]}, False, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "integer"}, False, True),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "integer"}, False, False),
    ],
)
def test_branches(a, b, by_xgrammar: bool, by_llguidance: bool) -> None:
    assert are_disjoint([a, b]) == are_disjoint([b, a]) == by_xgrammar
    assert exclude(a, b) == exclude(b, a) == by_llguidance


def test_what_stands_beside_narrows_the_branches() -> None:
    a, b = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
    assert not exclude(a, b)
    assert exclude(a, b, {"type": ["string", "integer"]})


def test_more_branches_than_xgrammar_compares_are_not_told_apart() -> None:
    assert are_disjoint([{"const": f"v{number}"} for number in range(300)])
    assert not are_disjoint([{"const": f"v{number}"} for number in range(301)])
    assert not are_disjoint([])


def test_a_property_that_may_be_left_out_tells_nothing_to_xgrammar() -> None:
    assert not are_disjoint([SHIP, LOOSE])
    assert are_disjoint([SHIP])
    assert not are_disjoint([])
