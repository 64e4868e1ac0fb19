"""What is said of each schema is what the decoder itself did with it."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.lint import support
from cachediag.lint.verdicts import DECODERS, verdict
from cachediag.model import Json
from tests.lint.corpus import CORPUS

OUTCOMES = json.loads(Path(__file__).with_name("outcomes.json").read_text(encoding="utf-8"))
SCHEMAS = {entry.name: entry for entry in CORPUS}
CASES = [
    (decoder, name)
    for decoder in DECODERS
    for name, outcome in OUTCOMES[decoder]["outcomes"].items()
    if outcome is not None and outcome != "stalls"
]


@pytest.mark.parametrize(("decoder", "name"), CASES)
def test_a_verdict_is_what_the_decoder_did(decoder: str, name: str) -> None:
    entry, did = SCHEMAS[name], OUTCOMES[decoder]["outcomes"][name]
    made = verdict(entry.schema, decoder)
    if did == "rejects":
        assert made.outcome == "rejects"
        assert made.reason
        assert made.path is not None
    else:
        assert made.outcome != "rejects", made.reason
        # A schema may break keywords of which the corpus has no output.
        assert {each.keyword for each in made.ignored} & entry.breaks.keys() == set(did)


def test_the_corpus_is_large_and_hostile_enough_and_wholly_asked() -> None:
    assert len(SCHEMAS) == len(CORPUS) >= 80
    assert sum(entry.hostile for entry in CORPUS) >= 30
    for decoder in DECODERS:
        assert OUTCOMES[decoder]["outcomes"].keys() == SCHEMAS.keys()
    for decoder in ("xgrammar", "llguidance"):
        told = {name for each, name in CASES if each == decoder}
        assert len(told) == len(CORPUS), "neither stalls on any of them"
    assert len({name for decoder, name in CASES if SCHEMAS[name].hostile}) >= 30


def test_outcomes_are_of_the_releases_that_the_tables_name() -> None:
    assert {name: made["version"] for name, made in OUTCOMES.items()} == {
        name: support.table(name).version for name in DECODERS
    }


@pytest.mark.parametrize("decoder", DECODERS)
def test_each_keyword_that_is_ignored_is_in_the_table_as_such(decoder: str) -> None:
    known = support.table(decoder).keywords
    for entry in CORPUS:
        for each in verdict(entry.schema, decoder).ignored:
            # What stands beside something else is ignored whatever it is.
            if "beside" not in each.why and "without a type" not in each.why:
                foreign = "draft" in each.why
                assert foreign or known[each.keyword].status in {"ignored", "partly"}, each


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_path_leads_to_the_keyword(decoder: str) -> None:
    schema: Json = {
        "type": "object",
        "properties": {"berths": {"type": "array", "items": {"type": "integer"}, "contains": {}}},
        "required": ["berths"],
        "additionalProperties": False,
    }
    schema["properties"]["berths"]["uniqueItems"] = True
    made = verdict(schema, decoder)
    if made.outcome == "rejects":
        assert made.path == "properties.berths.contains"
    else:
        paths = {each.path for each in made.ignored}
        assert "properties.berths.uniqueItems" in paths


DEEP: Json = {"type": "integer"}
for _ in range(900):
    DEEP = {"type": "array", "items": DEEP}


@pytest.mark.parametrize("decoder", DECODERS)
def test_depth_ends_in_a_verdict(decoder: str) -> None:
    assert verdict(DEEP, decoder).outcome in {"compiles", "rejects"}


@pytest.mark.parametrize("decoder", DECODERS)
def test_size_ends_in_a_verdict(decoder: str) -> None:
    wide = {"anyOf": [{"type": "integer", "title": str(number)} for number in range(60_000)]}
    assert verdict(wide, decoder).outcome == "unknown"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "oneOf",
                    "allOf",
                    "$ref",
                    "enum",
                    "const",
                    "required",
                    "additionalProperties",
                    "pattern",
                    "format",
                    "minItems",
                    "maxItems",
                    "minLength",
                    "maxLength",
                    "minimum",
                    "maximum",
                    "multipleOf",
                    "prefixItems",
                    "not",
                    "patternProperties",
                    "propertyNames",
                    "minProperties",
                    "maxProperties",
                    "$schema",
                    "$defs",
                    "if",
                    "then",
                    "uniqueItems",
                    "contains",
                    "a",
                ]
            ),
            inner
            | st.sampled_from(["string", "object", "array", "integer", "#", "#/$defs/a", "("]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("decoder", DECODERS)
@settings(max_examples=150, deadline=None)
@given(schema=JSON)
def test_any_json_has_a_verdict(decoder: str, schema) -> None:
    made = verdict(schema, decoder)
    assert (made.outcome == "rejects") == (made.path is not None)
    assert (made.outcome == "ignores") == bool(made.ignored)
