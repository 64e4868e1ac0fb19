import pytest

from cachediag.lint import collect
from cachediag.lint.checks import Subject, volatile
from cachediag.lint.parts import parts
from tests.lint.sessions import messages, session, tool


def subject(description: str, schema=None) -> Subject:
    made = tool(schema or {}, description=description)
    (schema,) = collect(session(messages(made)).exchanges()).schemas
    return Subject(schema, parts(schema.schema, schema.path), (), is_decoded=False)


@pytest.mark.parametrize(
    "text",
    ["Today's date is 2026-11-29.", "The current month is November 2026.", "Now: 10:40",
     "As of 2026-11-29"],
)  # fmt: skip
def test_text_about_now(text: str) -> None:
    (found,) = volatile.check(subject(text))
    assert (found.code, found.severity, found.confidence) == ("G07", "info", "suspected")
    assert found.path == "tools[0].description"
    assert found.after is not None
    assert found.after.text[found.after.start : found.after.end] in text


@pytest.mark.parametrize(
    "text",
    ["Such as 2026-11-29.", "Runs today to check the deploy.", "The current date as YYYY-MM-DD.",
     "Version 3.2.1 of 2024-05-01.", "now", "Know the date 2026-11-29", ""],
)  # fmt: skip
def test_text_that_stays(text: str) -> None:
    assert list(volatile.check(subject(text))) == []


def test_text_inside_a_schema() -> None:
    schema = {"properties": {"day": {"description": "Today is 2026-11-29."}}}
    (found,) = volatile.check(subject("Book.", schema))
    assert found.path == "tools[0].input_schema.properties.day.description"


def versions(*texts: str):
    bodies = [messages(tool({}, description=text)) for text in texts]
    return collect(session(*bodies).exchanges()).schemas


def test_two_versions_that_differ_by_their_nature() -> None:
    found = volatile.changed(*versions("Tide.\nFree at 10:40: 3, 4", "Tide.\nFree at 10:45: 3, 9"))
    assert found is not None
    assert (found.code, found.severity) == ("G07", "cost")
    assert found.before is not None
    assert found.after is not None
    assert found.before.text.endswith("10:40: 3, 4")
    assert found.after.text[found.after.start :].startswith("5: 3, 9")


@pytest.mark.parametrize(
    ("a", "b"), [("Tell the tide.", "Tell the fog."), ("One line.", "One line.\nTwo at 10:40.")]
)
def test_two_versions_that_say_other_things(a: str, b: str) -> None:
    assert volatile.changed(*versions(a, b)) is None
