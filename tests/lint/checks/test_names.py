from cachediag.lint import collect
from cachediag.lint.checks import names
from tests.lint.sessions import messages, session, tool


def said(*bodies):
    found = names.check(collect(session(*bodies).exchanges()).requests)
    return [(request, each.severity, each.path) for request, each in found]


def test_a_name_taken_twice_is_told_once() -> None:
    twice = messages(tool({}, "tide"), tool({"type": "object"}, "tide"))
    assert said(messages(tool({}, "tide")), twice, twice) == [(1, "cost", "tools[1]")]


def test_names_that_differ_in_case_or_punctuation() -> None:
    near = messages(tool({}, "book_berth"), tool({}, "BookBerth"), tool({}, "bookberth2"))
    assert said(near) == [(0, "info", "tools[1]")]


def test_the_same_tool_twice_is_a_name_taken_twice() -> None:
    assert said(messages(tool({}), tool({}))) == [(0, "cost", "tools[1]")]
