"""Schemas that are made to be looked at for ever."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from cachediag.lint.linted import lint
from cachediag.model import Exchange, ExchangeInfo
from cachediag.protocol import jsontext
from cachediag.session.source import numbered
from tests.hostile.growth import growth
from tests.hostile.strategies import Json

Schema = dict[str, Any]


def judged(schema: object) -> set[str]:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    body["tools"] = [{"name": "t", "input_schema": schema}]
    info = ExchangeInfo(endpoint="messages", path="/v1/messages")
    source = numbered("made", [Exchange(info, jsontext.encode(body))])
    return {each.finding.code for each in lint(source).found}


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


@pytest.mark.parametrize("made", [doubled(40), branched(40), crossed(60), doubled(1_500)])
def test_references_that_lead_to_more_and_more_places_are_followed_once(made):
    before = time.process_time()
    judged(made)
    assert time.process_time() - before < 5


def test_a_contradiction_at_their_end_is_found():
    made = doubled(30)
    made["$defs"]["d30"] = {"type": "string", "minLength": 3, "maxLength": 2}
    assert "G13" in judged(made)
    made["$defs"]["d30"] = {"type": "string"}
    assert "G13" not in judged(made)


def test_a_schema_that_contains_itself_far_away_is_found():
    made = chain(200, lambda number: {"items": to((number + 1) % 200)})
    assert "G06" in judged(made)


def wide(count: int) -> Schema:
    many = {f"p{number}": to(0) for number in range(count)}
    inside = {f"q{number}": {"type": "string"} for number in range(count)}
    return {
        "type": "object",
        "properties": many,
        "$defs": {"d0": {"type": "object", "properties": inside}},
    }


def listed(count: int) -> Schema:
    return {"type": "string", "minLength": 2, "enum": [f"v{number}" for number in range(count)]}


@pytest.mark.parametrize("made", [wide, listed])
def test_the_time_grows_with_the_schema(made):
    assert growth(made, judged, 150, 1_500) < 4


@given(Json)
@settings(max_examples=100, deadline=None)
def test_any_json_may_be_called_a_schema(schema):
    judged(schema)
    judged({"properties": {"a": schema}, "$defs": schema, "anyOf": [schema], "enum": schema})
