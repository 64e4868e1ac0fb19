from cachediag.analysis.counting import counting
from cachediag.lint.checks.changing import changes
from cachediag.lint.schemas import collect
from tests.lint.sessions import messages, session, tool

FREE = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


def turn(number: int, *tools):
    body = messages(*tools, system="Be brief. " * 200)
    talk = [
        {"role": "user" if each % 2 == 0 else "assistant", "content": f"Line {each}."}
        for each in range(2 * number + 1)
    ]
    return {**body, "messages": talk}


def counter():
    return counting("messages").counter


def test_changes_are_gathered_by_kind_and_place() -> None:
    """A tool comes in request 1, goes in 2 and comes again in 3: two ways, one of them twice."""
    one, two = tool(FREE), tool({**FREE, "title": "Two"}, "b")
    opened = session(turn(0, one), turn(1, one, two), turn(2, one), turn(3, one, two))
    came, went = changes(opened, collect(opened.exchanges()), counter)
    assert (came.found.code, came.found.path, came.requests) == ("S01", "tools[1]", [1, 3])
    assert came.tokens > 400
    # Request 3 goes on from request 1, whose tools were compiled.
    assert came.schemas == 1
    assert (went.found.code, went.found.path, went.requests) == ("S01", "tools", [2])
    # Request 0 had the same tools, and request 2 goes on from it.
    assert (went.tokens, went.schemas) == (0, 0)


def test_nothing_is_gathered_where_the_tools_stay() -> None:
    opened = session(turn(0, tool(FREE)), turn(1, tool(FREE)))
    assert changes(opened, collect(opened.exchanges()), counter) == ()
