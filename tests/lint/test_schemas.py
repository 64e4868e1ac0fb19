import json
from typing import Any

import pytest

from cachediag.lint import collect
from cachediag.lint.schemas import Collected
from tests.lint.sessions import chat, messages, session, tool

SHIP = {"type": "object", "properties": {"ship": {"type": "string"}}}
CREW = {"type": "object", "properties": {"crew": {"type": "integer"}}}


def collected(*bodies, **more) -> Collected:
    return collect(session(*bodies, **more).exchanges())


def test_a_tool_of_each_protocol() -> None:
    (made,) = collected(messages(tool(SHIP, strict=True))).schemas
    assert (made.path, made.home, made.name) == ("tools[0].input_schema", "tools[0]", "book")
    assert (made.kind, made.strict, made.schema, made.description) == ("tool", True, SHIP, "Book.")
    function = {"name": "book", "description": "Book.", "parameters": SHIP, "strict": True}
    body = chat(tools=[{"type": "function", "function": function}])
    (made,) = collected(body, endpoint="chat").schemas
    assert (made.path, made.name, made.strict) == ("tools[0].function.parameters", "book", True)
    body = {"model": "m", "input": "hi", "tools": [{"type": "function", **function}]}
    (made,) = collected(body, endpoint="responses").schemas
    assert (made.path, made.name, made.strict) == ("tools[0].parameters", "book", True)
    (made,) = collected(chat(functions=[function]), endpoint="chat").schemas
    assert (made.path, made.name) == ("functions[0].parameters", "book")


@pytest.mark.parametrize(
    ("endpoint", "field", "value", "path", "strict"),
    [
        (
            "chat",
            "response_format",
            {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SHIP}},
            "response_format.json_schema.schema",
            True,
        ),
        (
            "chat",
            "response_format",
            {"type": "json_schema", "json_schema": {"name": "n", "schema": SHIP}},
            "response_format.json_schema.schema",
            False,
        ),
        (
            "chat",
            "response_format",
            {"type": "json_object", "schema": SHIP},
            "response_format.schema",
            True,
        ),
        ("chat", "guided_json", SHIP, "guided_json", True),
        ("chat", "structured_outputs", {"json": SHIP}, "structured_outputs.json", True),
        (
            "messages",
            "output_config",
            {"format": {"type": "json_schema", "schema": SHIP}},
            "output_config.format.schema",
            True,
        ),
        (
            "messages",
            "output_format",
            {"type": "json_schema", "schema": SHIP},
            "output_format.schema",
            True,
        ),
        (
            "responses",
            "text",
            {"format": {"type": "json_schema", "name": "n", "schema": SHIP, "strict": True}},
            "text.format.schema",
            True,
        ),
    ],
)
def test_a_response_format(endpoint, field, value, path, strict) -> None:
    body = {"model": "m", "max_tokens": 9, "input": "hi", field: value}
    if endpoint != "responses":
        body = {**chat(), "max_tokens": 9, field: value}
    made = collected(body, endpoint=endpoint)
    (schema,) = made.schemas
    assert (schema.path, schema.strict, schema.kind) == (path, strict, "response")
    assert schema.schema == SHIP
    assert made.requests[0].response == 0
    inner = body
    for key in path.split("."):
        inner = inner[key]
    assert inner == SHIP


@pytest.mark.parametrize(
    "value",
    [None, "json", 7, [], {}, {"type": "text"}, {"type": "json_schema"}, {"json_schema": {}},
     {"type": "json_schema", "json_schema": []},
     {"type": "json_schema", "json_schema": {"schema": 7}}],
)  # fmt: skip
def test_what_is_no_response_format(value) -> None:
    assert collected(chat(response_format=value), endpoint="chat").schemas == ()


def test_each_content_is_held_once() -> None:
    ship, crew = tool(SHIP), tool(CREW, "hire")
    marked = {**crew, "cache_control": {"type": "ephemeral"}}
    made = collected(
        messages(ship, crew), messages(ship, marked), messages(crew), messages(ship, ship)
    )
    assert [each.name for each in made.schemas] == ["book", "hire"]
    assert [each.tools for each in made.requests] == [(0, 1), (0, 1), (1,), (0, 0)]
    assert made.carried() == (3, 3)
    assert [each.request for each in made.schemas] == [0, 0]
    # A marker is no content; equal lists of tools are one tuple, however many requests send them.
    many = collected(*[messages(ship, crew)] * 30)
    assert len({id(each.tools) for each in many.requests}) == 1


def test_a_tool_without_a_schema_has_a_name_all_the_same() -> None:
    made = collected(messages({"type": "web_search_20250305", "name": "web_search"}, tool(SHIP)))
    assert made.requests[0].names == (("tools[0]", "web_search"), ("tools[1]", "book"))
    assert [each.path for each in made.schemas] == ["tools[1].input_schema"]


def test_a_body_that_cannot_be_read_is_told_and_passed_over() -> None:
    made = collected(b"{", messages(tool(SHIP)))
    assert list(made.problems) == [0]
    assert "JSON ends too early" in made.problems[0]
    assert [each.request for each in made.requests] == [1]


def test_requests_that_generate_nothing_are_passed_over() -> None:
    assert collected(messages(tool(SHIP)), endpoint="count_tokens").requests == ()


def test_instructions_are_held_once_with_their_paths() -> None:
    system = [{"type": "text", "text": "Be brief."}]
    made = collected(messages(system=system), messages(system=system), messages(system="Be kind."))
    assert [(each.request, each.path, each.text) for each in made.instructions] == [
        (0, "system[0].text", "Be brief."),
        (2, "system", "Be kind."),
    ]


def test_odd_tools_do_no_harm() -> None:
    odd: list[Any] = [
        7,
        None,
        "x",
        [],
        {},
        {"name": 7},
        {"function": 7},
        {"name": "a", "input_schema": "x"},
    ]
    body = json.dumps({**messages(), "tools": odd}).encode()
    made = collected(body)
    assert made.schemas == ()
    assert made.problems == {}
