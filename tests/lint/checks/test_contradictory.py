from cachediag.lint.linted import lint
from tests.lint.sessions import messages, session, tool

NEVER = {"type": "integer", "minimum": 5, "maximum": 3}


def found(schema: object) -> list[tuple[str, str | None, str]]:
    made = lint(session(messages(tool(schema)))).found
    return [
        (each.finding.severity, each.finding.path, each.finding.message)
        for each in made
        if each.finding.code == "G13"
    ]


def test_a_schema_that_nothing_fits() -> None:
    schema = {"type": "object", "properties": {"a": NEVER}, "required": ["a"]}
    ((severity, path, message),) = found(schema)
    assert severity == "cost"
    assert (path or "").startswith("tools[0].input_schema.properties.a.")
    assert message.startswith("Nothing fits the schema: ")


def test_a_part_that_can_only_be_left_out_is_harmless() -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "string"}, "a": NEVER}}
    ((severity, path, message),) = found(schema)
    assert severity == "info"
    assert (path or "").startswith("tools[0].input_schema.properties.a.")
    assert message.startswith("Nothing fits this part, which can only be left out: ")


def test_bounds_that_leave_something() -> None:
    assert found({"type": "object", "properties": {"a": {**NEVER, "maximum": 5}}}) == []
