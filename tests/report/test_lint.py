import json

import pytest

from cachediag.lint.linted import lint
from cachediag.report.documents import dumps
from cachediag.report.lint import LintReport
from cachediag.report.lint_documents import linted
from tests.lint.sessions import messages, session, tool
from tests.report.test_style import printed

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
UNIQUE = {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "uniqueItems": True}
EVIL = "\x1b[31m\u202eevil\nname"


def shown(*bodies, decoders=(), width: int = 80) -> str:
    return printed(LintReport(lint(session(*bodies), decoders), "made-up", "x.json"), width=width)


def test_all_is_well() -> None:
    text = shown(messages(tool(CLOSED)))
    assert text.splitlines()[:3] == [
        "made-up   1 schema in 1 request",
        "",
        "Nothing in these schemas costs tokens, time or a request.",
    ]
    assert "Every decoder compiles every schema." in text
    assert "cachediag lint x.json --costs" in text


def test_what_costs_stands_first_with_place_and_fix() -> None:
    text = shown(messages(tool(UNIQUE), tool(CLOSED, "b")), decoders=["xgrammar"])
    lines = text.splitlines()
    assert lines[2] == "1 finding in 1 schema costs tokens, time or a request."
    assert lines[4].startswith("! G02 keyword is ignored")
    assert lines[4].endswith("confirmed")
    assert lines[5] == "  tools[0].input_schema.uniqueItems, request 0"
    assert "  fix   say it in the description, or check the reply" in lines
    assert "ignores 1" in text
    assert "and 1 that every decoder compiles" in text
    assert "cachediag explain G02" in text


def test_the_same_finding_in_many_places_is_one() -> None:
    tools = [tool(UNIQUE, f"t{number}") for number in range(9)]
    text = shown(messages(*tools), decoders=["xgrammar"])
    assert text.count("G02 keyword is ignored") == 1
    assert "and 6 places more" in text
    assert "9 findings in 9 schemas cost tokens, time or a request." in text


def test_a_session_without_schemas() -> None:
    text = shown(messages())
    assert "No request gives a schema" in text
    assert "--costs" not in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_captured_text_is_escaped(width: int) -> None:
    pattern = {"type": "string", "pattern": "(a+)+\u202eevil"}
    properties = {EVIL: {"$ref": EVIL}, "b": pattern}
    schema = {"type": "object", "properties": properties, "required": [EVIL]}
    body = messages(tool(schema, EVIL), tool(schema, EVIL), system=f"<function_calls>{EVIL}")
    body["model"] = f"qwen-{EVIL}"
    made = lint(session(body))
    assert {each.finding.code for each in made.costly} >= {"G05", "G08", "G11", "G12"}
    text = shown(body, width=width)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert all(len(line) <= width for line in text.splitlines())
    assert dumps(linted(made, session="x")).isascii()


def test_the_document() -> None:
    document = linted(lint(session(messages(tool(UNIQUE)), b"{"), ["xgrammar"]), session="x")
    assert document["totals"] == {"requests": 1, "schemas": 1, "findings": 1, "costly": 1}
    (schema,) = document["schemas"]
    assert schema["verdicts"] == [
        {
            "decoder": "xgrammar",
            "outcome": "ignores",
            "reason": None,
            "path": None,
            "ignored": [{"keyword": "uniqueItems", "path": "uniqueItems", "why": "not supported"}],
        }
    ]
    assert document["findings"][0]["schema"] == 0
    assert document["problems"][0]["request"] == 1
    assert json.loads(dumps(document)) == document
