"""What is proposed for each case of the collection."""

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from cachediag.analysis.requests import Request
from cachediag.compare import Comparison, compare
from cachediag.protocol import parse
from cachediag.render import profile
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.file import parse_rules, write_rules
from cachediag.rules.making.drafting import _add, _gathered, drafted
from cachediag.rules.making.family import At, Family
from cachediag.rules.making.proposals.proposed import Piece, Proposed, evidence
from cachediag.rules.making.values import Found, Saved, Spot, collect
from cachediag.rules.rule import Rule, RuleSet
from tests.analysis.sessions import recorded
from tests.fixtures.engines import FIXTURES

FOLDERS = [folder for folder in sorted((FIXTURES / "cases").iterdir()) if folder.is_dir()]
ANSWERS: dict[str, dict[str, Any]] = {
    folder.name: tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    for folder in FOLDERS
}
BROKEN = [name for name, answer in ANSWERS.items() if answer["kind"] == "pair" and answer["breaks"]]


def held(name: str, a: bytes, b: bytes) -> Comparison:
    """The two bodies of a case, or what rules made of them, held against each other."""
    answer = ANSWERS[name]
    endpoint = answer["endpoint"]
    return compare(parse(a, endpoint), parse(b, endpoint), profile(answer["profile"]))


def in_a_pair(name: str) -> tuple[list[Rule], list[bytes]]:
    """What is proposed for the two requests of a case, as if no session stood around them."""
    bodies = [(FIXTURES / "cases" / name / f"{x}.json").read_bytes() for x in "ab"]
    comparison = held(name, *bodies)
    exchanges = [
        replace(exchange, info=replace(exchange.info, endpoint=ANSWERS[name]["endpoint"]))
        for exchange in recorded(bodies)
    ]
    request = Request(
        info=exchanges[1].info,
        lane="main",
        kind="turn",
        parent=0,
        latest=0,
        prompt=comparison.b,
        comparison=comparison,
        findings=comparison.findings,
    )
    found = collect([request], Saved())
    rules = [each.rule for each in drafted(found, lambda: exchanges)]
    return [rule for rule in rules if changes(name, bodies, rule)], bodies


def changes(name: str, bodies: list[bytes], rule: Rule) -> bool:
    """Whether a rule does anything; for text of a user or of the model none does."""
    pins, endpoint = Pins(), ANSWERS[name]["endpoint"]
    return any(apply_rules(each, endpoint, [rule], pins).changes for each in bodies)


def with_rules(name: str, bodies: list[bytes], rules: list[Rule]) -> list[tuple[str, str | None]]:
    """What still breaks the prefix of a case under some rules."""
    pins = Pins()
    made = [apply_rules(each, ANSWERS[name]["endpoint"], rules, pins).body for each in bodies]
    return [(finding.code, finding.path) for finding in held(name, *made).breaks]


PROPOSED: dict[str, list[tuple[str, str, str, bool]]] = {
    "e01-carriage-returns": [("E01", "replace", "tools[name=Task].description", True)],
    "e01-line-end-after-the-context": [("E01", "replace", "messages[0].content[0].text", False)],
    "e02-near-curly-apostrophes": [("V06", "move-to-end", "system[1].text", False)],
    "m06-marked-context": [("V02", "move-to-end", "messages[0].content[0].text", False)],
    "m06-marked-instructions-change": [("V06", "move-to-end", "system[2].text", False)],
    "m06-marked-snapshot": [("V05", "pin", "system[3].text", True)],
    "m06-near-marker-before-the-change": [("V05", "pin", "system[3].text", True)],
    "many-chat-order-and-clock": [
        ("V02", "move-to-end", "messages[0].content", True),
        ("O01", "sort", "tools", True),
    ],
    "many-compacted-and-header": [("V01", "drop-block", "system[0]", True)],
    "many-date-and-line-end": [
        ("V02", "move-to-end", "messages[0].content[0].text", False),
        ("E01", "replace", "messages[0].content[0].text", False),
    ],
    "many-date-in-two-places": [
        ("V01", "drop-block", "system[0]", True),
        ("V02", "move-to-end", "system[1].text", True),
        ("V02", "move-to-end", "messages[0].content[0].text", False),
    ],
    "many-edit-and-appended": [("V06", "move-to-end", "system[2].text", False)],
    "many-header-and-snapshot": [
        ("V01", "drop-block", "system[0]", True),
        ("V05", "pin", "system[3].text", True),
    ],
    "many-header-order-date": [
        ("V01", "drop-block", "system[0]", True),
        ("V02", "move-to-end", "messages[0].content[0].text", False),
        ("O01", "sort", "tools", True),
    ],
    "many-identifier-and-counter": [
        ("V04", "move-to-end", "system[1].text", True),
        ("V03", "pin", "system[1].text", True),
    ],
    "many-keys-and-number": [("O02", "sort", "tools[name=Edit].input_schema", True)],
    "many-note-and-date-in-one-text": [
        ("V02", "move-to-end", "messages[0].content[0].text", False),
        ("V06", "pin", "messages[0].content[0].text", False),
    ],
    "many-order-and-date-in-one-text": [
        ("V02", "move-to-end", "messages[0].content[0].text", False),
        ("O03", "sort", "messages[0].content[0].text", False),
    ],
    "many-property-and-key-order": [("O02", "sort", "tools[name=Read].input_schema", True)],
    "many-tool-gone-and-header": [("V01", "drop-block", "system[0]", True)],
    "many-tool-gone-and-others-shuffled": [("O01", "sort", "tools", True)],
    "o01-last-two-swapped": [("O01", "sort", "tools", True)],
    "o01-moved-to-the-end": [("O01", "sort", "tools", True)],
    "o01-shuffled": [("O01", "sort", "tools", True)],
    "o01-sorted-by-a-router": [("O01", "sort", "tools", True)],
    "o02-arguments-of-an-earlier-call": [("O02", "sort", "messages[*].content[*].input", False)],
    "o02-schema-properties": [("O02", "sort", "tools[name=Edit].input_schema", True)],
    "o02-two-schemas": [("O02", "sort", "tools[*].input_schema", True)],
    "o03-agents-in-a-description": [("O03", "sort", "tools[name=Task].description", True)],
    "o03-items-of-a-line": [("O03", "sort", "system[1].text", True)],
    "o03-items-of-an-array": [("O03", "sort", "system[1].text", True)],
    "o03-notes-in-the-context": [("O03", "sort", "messages[0].content[0].text", False)],
    "s07-count-after-each-result": [("S07", "keep-inline", "messages[*]", True)],
    "s07-mode-entered": [("S07", "keep-inline", "messages[*]", True)],
    "v01-backend-that-keeps-it": [("V01", "drop-block", "system[0]", True)],
    "v01-block-of-its-own": [("V01", "drop-block", "system[0]", True)],
    "v01-converted-to-chat": [("V01", "replace", "messages[0].content", True)],
    "v01-converted-to-responses": [("V01", "replace", "instructions", True)],
    "v01-first-party-fields": [("V01", "drop-block", "system[0]", True)],
    "v01-line-before-the-system-text": [("V01", "replace", "system[0].text", True)],
    "v01-no-line-end-after-it": [("V01", "replace", "system[0].text", True)],
    "v01-version-suffix": [("V01", "drop-block", "system[0]", True)],
    "v02-clock-at-the-head": [("V02", "move-to-end", "messages[0].content", True)],
    "v02-compact-timestamp": [("V02", "move-to-end", "system[1].text", True)],
    "v02-date-in-a-tool-description": [("V02", "pin", "tools[name=WebFetch].description", True)],
    "v02-date-in-the-context": [("V02", "move-to-end", "messages[0].content[0].text", False)],
    "v02-date-of-a-script": [("V02", "move-to-end", "system[1].text", True)],
    "v02-hour-only": [("V02", "move-to-end", "system[1].text", True)],
    "v02-month-only": [("V02", "move-to-end", "system[1].text", True)],
    "v02-near-line-and-column": [("V04", "move-to-end", "system[1].text", True)],
    "v02-seconds-since-the-epoch": [("V02", "move-to-end", "system[1].text", True)],
    "v02-timestamp-with-milliseconds": [
        ("V02", "move-to-end", "messages[0].content[0].text", False)
    ],
    "v02-twelve-hour-clock": [("V02", "move-to-end", "system[1].text", True)],
    "v02-weekday-and-month-name": [("V02", "move-to-end", "system[1].text", True)],
    "v03-boundary-nonce": [("V03", "pin", "messages[0].content[0].text", False)],
    "v03-near-commit-hash": [("V05", "pin", "system[3].text", True)],
    "v03-near-words-of-hex-letters": [("V06", "move-to-end", "system[1].text", False)],
    "v03-nonce-in-base64": [("V03", "pin", "system[1].text", True)],
    "v03-run-identifier": [("V03", "pin", "system[1].text", True)],
    "v03-scratch-directory": [("V03", "pin", "tools[name=Bash].description", False)],
    "v03-sortable-identifier": [("V03", "pin", "system[1].text", True)],
    "v04-counter-in-chat": [("V04", "move-to-end", "messages[0].content", True)],
    "v04-near-number-and-words": [("V06", "move-to-end", "system[1].text", False)],
    "v04-port": [("V04", "move-to-end", "system[1].text", True)],
    "v04-request-counter": [("V04", "move-to-end", "system[1].text", True)],
    "v04-share-and-separator": [("V04", "move-to-end", "system[1].text", True)],
    "v05-branch-and-commit": [
        ("V05", "pin", "system[3].text", True),
        ("V05", "pin", "system[3].text", True),
    ],
    "v05-directory-in-a-description": [("V05", "pin", "tools[name=Bash].description", False)],
    "v05-git-status-grew": [("V05", "pin", "system[3].text", True)],
    "v05-in-tags": [("V05", "pin", "system[1].text", True)],
    "v05-near-platform-team": [("V06", "move-to-end", "system[1].text", False)],
    "v05-other-directory": [("V05", "pin", "system[3].text", False)],
    "v05-other-platform": [
        ("V05", "pin", "instructions", False),
        ("V05", "pin", "instructions", False),
    ],
    "v05-snapshot-in-the-first-message": [("V05", "pin", "messages[0].content[0].text", False)],
    "v06-agent-joined-the-list": [("V06", "pin", "tools[name=Task].description", False)],
    "v06-memory-recalled": [("V06", "move-to-end", "system[3].text", False)],
    "v06-note-rewritten": [("V06", "pin", "messages[0].content[0].text", False)],
    "v06-warning-in-a-description": [("V06", "pin", "tools[name=Bash].description", False)],
}
"""For each case what is proposed: finding, action, path, and whether it is enabled."""


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_proposed_for_a_case(name):
    rules, _ = in_a_pair(name)
    made = [(rule.finding, rule.action, rule.path, rule.enabled) for rule in rules]
    assert made == PROPOSED.get(name, [])


@pytest.mark.parametrize("name", BROKEN)
def test_the_rules_for_a_finding_remove_it(name):
    rules, bodies = in_a_pair(name)
    before = with_rules(name, bodies, [])
    for finding in {rule.finding for rule in rules}:
        own = [rule for rule in rules if rule.finding == finding]
        after = with_rules(name, bodies, own)
        assert [cause for cause in before if cause[0] == finding and cause in after] == []


def test_rules_of_one_name_are_numbered():
    names = [rule.id for rule in in_a_pair("v05-branch-and-commit")[0]]
    assert names == ["pin-snapshot", "pin-snapshot-2"]


@pytest.mark.parametrize("name", BROKEN)
def test_every_proposal_can_be_written_and_read(name):
    ruleset = RuleSet(tuple(in_a_pair(name)[0]), "anthropic")
    assert parse_rules(write_rules(ruleset), "rules.toml") == ruleset


def proposed(path: str, *, requests: tuple[int, ...], **changes: Any) -> Proposed:
    answers = (Found("V06", Spot("messages", path), requests, tokens_lost=10),)
    rule = Rule("note", "V06", "move-to-end", "messages", path, pattern="x", enabled=False)
    rule = replace(rule, evidence=evidence(answers, [path]), **changes)
    return Proposed(rule, "It moves.", answers)


def test_rules_that_differ_in_the_message_alone_are_one():
    (one,) = _gathered(
        [
            proposed("messages[0].content[1].text", requests=(1, 2), messages=True),
            proposed("messages[4].content[1].text", requests=(2, 3), messages=True),
        ]
    )
    assert one.rule.path == "messages[*].content[*].text"
    assert len(one.answers) == 2
    assert (one.rule.evidence.requests, one.rule.evidence.tokens_saved) == (3, 20)
    assert one.rule.evidence.seen == ("messages[0].content[1].text", "messages[4].content[1].text")


def test_rules_for_other_places_stay_apart():
    rules = [proposed(f"system[{number}].text", requests=(1,)) for number in (1, 2)]
    assert list(_gathered(rules)) == rules


def test_a_piece_that_an_enabled_rule_changes_already_is_answered_by_that():
    text = "Berth 4 is free."
    family = Family((text,), (text,), ())
    whole = Piece(family, At(0, 0), family.end)
    first = replace(proposed("system[1].text", requests=(1,), enabled=True), pieces=(whole,))
    second = replace(proposed("system[2].text", requests=(2,)), pieces=(whole,))
    made = [first]
    _add(made, second)
    assert made == [replace(first, answers=(*first.answers, *second.answers))]
    # One that a person must look at first does not stand for one that is enabled.
    made = [second]
    _add(made, first)
    assert made == [second, first]
