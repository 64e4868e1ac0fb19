"""What a session's schemas cost, by an engine whose times are known."""

import pytest

from cachediag.lint.grammar.child import Limits
from cachediag.lint.grammar.costs import measure
from cachediag.lint.structural_tag import SYNTAXES

from .scripted import SECONDS
from .sessions import collected, schema

pytestmark = pytest.mark.usefixtures("scripted")


def measured(session, syntax="hermes"):
    told: list[str] = []
    limits = Limits(seconds=1.5, memory=200 << 20)
    made = measure(
        session, tokenizer="qwen3", syntax=SYNTAXES[syntax], tell=told.append, limits=limits
    )
    assert told[0] == "loading scripted"
    assert made.missing == ("absent",)
    (engine,) = made.engines
    assert (engine.engine, engine.version) == ("scripted", "1.2")
    return engine


def about(seconds, tags):
    return seconds == pytest.approx(tags * SECONDS)


def test_tools_that_were_seen_cost_nothing_on_a_compiler_that_is_kept() -> None:
    names = [schema(f"t{number}") for number in range(8)]
    session = collected(
        names, (0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4, 5, 6, 7), (0, 1, 2, 3, 4, 5, 6)
    )
    engine = measured(session)
    first, second = engine.groups
    assert (first.requests, second.requests) == ((0, 2), (1,))
    assert (first.new, second.new) == (7, 1)
    assert about(first.fresh.seconds, 7)
    assert about(first.reused.seconds, 7)
    assert about(first.repeat.seconds, 0)
    assert about(second.fresh.seconds, 8)
    assert about(second.reused.seconds, 1)
    assert engine.kept_seconds == pytest.approx(
        first.reused.seconds + first.repeat.seconds + second.reused.seconds
    )
    assert engine.anew_seconds == pytest.approx(2 * first.fresh.seconds + second.fresh.seconds)
    one_more = engine.one_more
    assert one_more.tools == 8
    assert about(one_more.fresh, 8)
    assert about(one_more.shared, 1)


def test_each_schema_is_compiled_alone_too() -> None:
    reply = schema("reply", kind="response")
    engine = measured(collected([schema("a"), reply], (0,)))
    assert [each.schema for each in engine.schemas] == [0, 1]
    assert all(about(each.result.seconds, 1) for each in engine.schemas)
    # A response's schema is no tool's.
    assert [each.tools for each in engine.groups] == [(0,)]
    assert engine.one_more is None


@pytest.mark.parametrize(
    ("what", "outcome"),
    [("reject", "rejected"), ("sleep", "too slow"), ("eat", "too large"), ("crash", "crashed")],
)
def test_a_schema_that_cannot_be_compiled_is_named_and_the_rest_goes_on(what, outcome) -> None:
    bad = schema("bad", {"x-do": what})
    engine = measured(collected([schema("a"), bad, schema("b")], (0, 1, 2), (1,)))
    outcomes = [each.result.outcome for each in engine.schemas]
    assert outcomes == ["compiled", outcome, "compiled"]
    (group,) = engine.groups
    assert (group.tools, group.left_out) == ((0, 2), (1,))
    assert group.fresh.outcome == "compiled"


def test_an_engine_without_parameters_is_given_json() -> None:
    assert measured(collected([schema("a")], (0,)), "qwen3_coder").syntax == "hermes"
    assert measured(collected([schema("a")], (0,)), "llama3_json").syntax == "llama3_json"


def test_a_session_without_schemas() -> None:
    engine = measured(collected([], ()))
    assert (engine.schemas, engine.groups, engine.one_more) == ((), (), None)
    assert engine.kept_seconds == engine.anew_seconds == 0
