from dataclasses import replace
from pathlib import Path

from peers.case import Case
from peers.score import Asked, Judged, asked, judge, score
from peers.tool import Command, Heard, Tool

CASE = Case(
    name="two-causes",
    folder=Path(),
    kind="pair",
    endpoint="messages",
    profile="anthropic",
    near_miss_of=None,
    causes={"V01": ("system[0].text",), "V05": ("system[3].text",)},
    answer={"shared_tokens": 33},
)
NEAR = replace(CASE, name="near", near_miss_of="V02", causes={"V04": ("system[1].text",)})
HEALTHY = replace(CASE, name="healthy", causes={})
TOOL = Tool(
    name="a-tool",
    version="1.0",
    requires=("a-tool==1.0",),
    takes="bodies",
    words={"HEADER": ("V01",), "TEXT": ("V01", "V05"), "DATE": ("V02",), "NOTE": ()},
    outside=lambda case: "not bodies" if case.kind == "lint" else None,
    command=lambda case, folder: Command([]),
    read=lambda case, output: [],
)


def _judged(tool: Tool, case: Case, *heard: Heard) -> Judged:
    (question,) = asked(tool, [case])
    return judge(tool, question, heard, 0.5)


def test_what_a_tool_is_asked() -> None:
    lint = replace(CASE, kind="lint")
    other = replace(CASE, causes={"O01": ("tools",)})
    other_near = replace(HEALTHY, near_miss_of="O01")
    questions = asked(TOOL, [CASE, NEAR, HEALTHY, lint, other, other_near])
    assert questions == [
        Asked(CASE, ("V01", "V05"), quiet=False),
        Asked(NEAR, (), quiet=True),
        Asked(HEALTHY, (), quiet=True),
        Asked(other_near, (), quiet=True),
    ]


def test_a_cause_that_it_does_not_claim_in_one_case_is_not_asked_for() -> None:
    tool = replace(TOOL, unasked={"two-causes": ("V05",)})
    assert asked(tool, [CASE]) == [Asked(CASE, ("V01",), quiet=False)]


def test_one_of_the_causes_will_do() -> None:
    made = _judged(TOOL, CASE, Heard("HEADER", "system[0]"))
    assert (made.found, made.placed, made.false_alarm) == (True, True, None)


def test_all_are_asked_of_a_tool_that_claims_to_name_all() -> None:
    tool = replace(TOOL, every=True)
    one = _judged(tool, CASE, Heard("HEADER", "system[0].text"))
    assert (one.found, one.placed) == (False, False)
    both = _judged(tool, CASE, Heard("HEADER", "system[0]"), Heard("TEXT", "system[3]"))
    assert (both.found, both.placed) == (True, True)


def test_a_wrong_place_is_no_right_one() -> None:
    made = _judged(TOOL, CASE, Heard("HEADER", "messages[0]"))
    assert (made.found, made.placed) == (True, False)
    assert _judged(TOOL, CASE, Heard("HEADER")).placed is False


def test_the_right_place_of_another_word_does_not_count() -> None:
    made = _judged(TOOL, CASE, Heard("DATE", "system[0].text"))
    assert (made.found, made.placed) == (False, False)


def test_a_token_is_a_place_too() -> None:
    assert _judged(TOOL, CASE, Heard("HEADER", token=33)).placed is True
    assert _judged(TOOL, CASE, Heard("HEADER", token=34)).placed is False


def test_a_cause_in_the_cache_has_no_place() -> None:
    made = _judged(TOOL, replace(CASE, causes={"V01": ()}), Heard("HEADER", "system[0]"))
    assert (made.found, made.placed) == (True, None)


def test_an_alarm_is_false_where_none_of_its_codes_is_right() -> None:
    assert _judged(TOOL, NEAR, Heard("DATE")).false_alarm is True
    assert _judged(TOOL, HEALTHY, Heard("TEXT")).false_alarm is True
    assert _judged(replace(TOOL, words={"DATE": ("V02", "V04")}), NEAR, Heard("DATE")).found


def test_a_note_and_a_suspicion_are_no_alarms() -> None:
    said = (Heard("NOTE"), Heard("DATE", suspicion=True))
    assert _judged(TOOL, HEALTHY, *said).false_alarm is False


def test_the_sums() -> None:
    judged = [
        _judged(TOOL, CASE, Heard("HEADER", "system[0]")),
        _judged(TOOL, CASE, Heard("TEXT", "tools")),
        _judged(TOOL, CASE),
        _judged(TOOL, HEALTHY, Heard("DATE")),
        _judged(TOOL, HEALTHY),
    ]
    made = score(TOOL, judged)
    assert (made.causes, made.found, made.placeable, made.placed) == (3, 2, 3, 1)
    assert (made.quiet, made.false_alarms, made.bare_alarms) == (2, 1, None)
    assert made.seconds == 2.5
    unmarked = score(replace(TOOL, markers=False), [replace(judged[3], bare_alarm=True)])
    assert unmarked.bare_alarms == 1
    document = made.as_json()
    assert (document["tool"], document["found"], len(document["cases"])) == ("a-tool", 2, 5)
