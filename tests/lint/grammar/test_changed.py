from cachediag.lint.checks.changing import Change
from cachediag.lint.grammar.changed import compiled
from cachediag.lint.grammar.child import Result
from cachediag.lint.grammar.costs import EngineCosts, Group
from cachediag.model import Finding


def took(seconds: float) -> Result:
    return Result("compiled", seconds=seconds)


FOUND = Finding(
    code="S01", severity="break", path="tools[1]", message="A tool came.", confidence="confirmed"
)
ENGINE = EngineCosts(
    engine="xgrammar",
    version="0.2.9",
    syntax="hermes",
    load_seconds=1.0,
    schemas=(),
    groups=(
        Group((0, 2), (0,), (), 1, took(1.0), took(1.0), took(0.0)),
        Group((1, 3), (0, 1), (), 1, took(3.0), took(2.0), took(0.5)),
        Group((4,), (0, 1, 2), (), 1, took(4.0), None, None),
    ),
    one_more=None,
)


def test_a_kept_compiler_meets_the_same_tools_again() -> None:
    (each,) = compiled([Change(FOUND, [1, 3], tokens=900)], ENGINE)
    assert each.change.tokens == 900
    assert (each.fresh, each.kept) == (6.0, 2.5)


def test_what_was_not_measured_is_not_taken_for_nothing() -> None:
    (each,) = compiled([Change(FOUND, [1, 4])], ENGINE)
    assert (each.fresh, each.kept) == (7.0, None)
    (without_tools,) = compiled([Change(FOUND, [7])], ENGINE)
    assert (without_tools.fresh, without_tools.kept) == (None, None)
