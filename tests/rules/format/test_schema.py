"""The schema of rule files says what `Rule` says and what the reader takes."""

import json
import runpy
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from jsonschema import Draft202012Validator
from msgspec import UNSET

from cachediag.errors import InputError
from cachediag.rules.file import parse_rules, write_rules
from cachediag.rules.format.schema import (
    CHOICES,
    NEEDS,
    TAKERS,
    EvidenceTable,
    FileTable,
    RuleTable,
    json_schema,
)
from cachediag.rules.rule import ACTIONS, Evidence, Rule, RuleSet
from tests.rules.rulesets import RULESETS

DOCS = Path(__file__).parents[3] / "docs"
VALIDATOR = Draft202012Validator(json_schema())
RULE: dict[str, Any] = {
    "id": "a",
    "finding": "V03",
    "action": "replace",
    "protocol": "messages",
    "path": "system[0].text",
    "pattern": r"\AId ([0-9a-f]{8})",
    "value": "0",
}


def test_the_committed_schema_is_not_stale() -> None:
    schema = runpy.run_path(str(DOCS / "generate_rules_schema.py"))["schema"]
    committed = (DOCS / "rules.schema.json").read_text(encoding="utf-8")
    assert committed == schema(), "write it anew: nox -s docs"


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize(("table", "plain"), [(RuleTable, Rule), (EvidenceTable, Evidence)])
def test_the_fields_are_those_of_the_rule(table: type[msgspec.Struct], plain: Any) -> None:
    assert table.__struct_fields__ == tuple(each.name for each in fields(plain))
    given = {each.name: each for each in msgspec.structs.fields(table)}
    for each in fields(plain):
        own = given[each.name]
        assert own.required == (each.default is MISSING and each.default_factory is MISSING)
        if each.default is not MISSING:
            assert (None if own.default is UNSET else own.default) == each.default


def test_the_words_of_a_field_are_those_of_the_rule() -> None:
    given = {each.name: each.type for each in msgspec.structs.fields(RuleTable)}
    for name, words in CHOICES.items():
        assert sorted(_words(given[name])) == sorted(words)
    assert set(NEEDS) <= set(ACTIONS)
    assert {action for takers in TAKERS.values() for action in takers} <= set(ACTIONS)


def _words(kind: Any) -> list[str]:
    """The words of a `Literal`, however it is wrapped."""
    return [
        word
        for each in get_args(kind)
        for word in ([each] if isinstance(each, str) else _words(each))
    ]


def test_every_field_is_described() -> None:
    for definition in json_schema()["$defs"].values():
        assert definition["description"]
        for field in definition["properties"].values():
            assert field["description"]


@given(RULESETS)
def test_what_is_written_is_valid(ruleset):
    VALIDATOR.validate(tomllib.loads(write_rules(ruleset)))


BROKEN: list[dict[str, Any]] = [
    {"id": "A"},
    {"id": ""},
    {"id": "a" * 81},
    {"id": 1},
    {"finding": "V3"},
    {"action": "delete"},
    {"protocol": "completions"},
    {"path": "a" * 2000},
    {"pattern": None},
    {"pattern": r"\A" + "a" * 5000},
    {"value": None},
    {"value": 1},
    {"by": "name"},
    {"arguments": True},
    {"enabled": "yes"},
    {"messages": 1},
    {"evidence": []},
    {"evidence": {"requests": -1}},
    {"evidence": {"requests": 1.5}},
    {"evidence": {"seen": "a"}},
    {"evidence": {"other": 1}},
    {"other": 1},
    {"action": "drop-block", "path": "system[0]"},
    {"action": "sort", "value": None, "pattern": None},
    {"action": "sort", "value": None, "pattern": None, "by": "size"},
    {"action": "keep-inline", "path": "messages[*]", "value": None},
    {"action": "pin", "value": None, "pattern": None},
    {"action": "move-to-end"},
]
GOOD: list[dict[str, Any]] = [
    {},
    {"arguments": False, "enabled": False, "messages": True},
    {"action": "drop-block", "path": "system[0]", "value": None},
    {"action": "sort", "path": "tools", "value": None, "pattern": None, "by": "name"},
    {"action": "keep-inline", "path": "messages[*]", "value": None, "pattern": None},
    {"action": "pin", "value": None, "evidence": {"requests": 1, "seen": ["a"]}},
    {"action": "move-to-end", "value": None, "pattern": None},
]


@pytest.mark.parametrize("change", [*BROKEN, *GOOD], ids=json.dumps)
def test_schema_and_reader_agree(change: dict[str, Any]) -> None:
    import tomlkit

    rule = {name: value for name, value in {**RULE, **change}.items() if value is not None}
    data = {"version": 1, "rule": [rule]}
    assert VALIDATOR.is_valid(data) is (change in GOOD)
    if change in GOOD:
        assert len(parse_rules(tomlkit.dumps(data), "rules.toml").rules) == 1
    else:
        with pytest.raises(InputError):
            parse_rules(tomlkit.dumps(data), "rules.toml")


def test_the_tables_give_what_the_file_says() -> None:
    given = msgspec.convert({"version": 1, "model": "qwen3", "rule": [RULE]}, FileTable)
    assert given.ruleset() == RuleSet((Rule(**RULE),), None, "qwen3")
