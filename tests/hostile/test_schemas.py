"""Schemas that are made to be looked at for ever."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from benchmarks.hostile_input import SCHEMAS, linted
from cachediag.lint.linted import lint
from tests.hostile.strategies import Json
from tests.hostile.work import growth

Schema = dict[str, Any]


def judged(schema: object) -> set[str]:
    return {each.finding.code for each in lint(linted(schema)).found}


def to(number: int) -> Schema:
    return {"$ref": f"#/$defs/d{number}"}


def chain(count: int, made: Callable[[int], Schema]) -> Schema:
    return {**to(0), "$defs": {f"d{n}": made(n) for n in range(count)}}


def doubled(count: int) -> Schema:
    def made(number: int) -> Schema:
        inside = {"a": to(number + 1), "b": to(number + 1)}
        return {"type": "object", "properties": inside, "required": ["a", "b"]}

    return chain(count, made)


def branched(count: int) -> Schema:
    return chain(count, lambda number: {"allOf": [to(number + 1), to(number + 1)]})


def crossed(count: int) -> Schema:
    return chain(count, lambda _: {"anyOf": [to(each) for each in range(count)]})


@pytest.mark.parametrize(
    ("made", "codes"),
    [
        (doubled(40), {"G01", "G03", "G12"}),
        (branched(40), {"G03", "G12"}),
        (crossed(60), {"G03", "G06", "G14"}),
        (doubled(1_500), {"G01", "G03", "G12", "G14"}),
    ],
    ids=["doubled", "branched", "crossed", "many"],
)
def test_references_that_lead_to_more_and_more_places_are_followed_once(made, codes):
    """Followed each time they would take for ever."""
    assert judged(made) == codes


def test_a_contradiction_at_their_end_is_found():
    made = doubled(30)
    made["$defs"]["d30"] = {"type": "string", "minLength": 3, "maxLength": 2}
    assert "G13" in judged(made)
    made["$defs"]["d30"] = {"type": "string"}
    assert "G13" not in judged(made)


def test_a_schema_that_contains_itself_far_away_is_found():
    made = chain(200, lambda number: {"items": to((number + 1) % 200)})
    assert "G06" in judged(made)


@pytest.mark.parametrize("made", SCHEMAS)
def test_the_work_grows_with_the_schema(made):
    assert growth(SCHEMAS[made], judged, 100, 1_000) < 1.1


@given(Json)
@settings(max_examples=100, deadline=None)
def test_any_json_may_be_called_a_schema(schema):
    judged(schema)
    judged({"properties": {"a": schema}, "$defs": schema, "anyOf": [schema], "enum": schema})
