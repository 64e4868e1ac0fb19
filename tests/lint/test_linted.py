import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.analysis.counting import counting
from cachediag.lint.checks.strict import switch_of
from cachediag.lint.linted import lint
from cachediag.lint.verdicts import verdict
from tests.lint.corpus import CORPUS
from tests.lint.sessions import chat, messages, session, tool

FREE = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
UNIQUE = {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "uniqueItems": True}


def said(*bodies, decoders=(), **more) -> list[tuple[str, str, str, str]]:
    made = lint(session(*bodies, **more), decoders, lambda: counting("messages").counter)
    return [
        (each.finding.code, each.finding.severity, each.finding.confidence, each.finding.path or "")
        for each in made.found
    ]


def test_an_ignored_keyword_costs_where_what_decodes_is_known() -> None:
    body, path = messages(tool(UNIQUE)), "tools[0].input_schema.uniqueItems"
    assert ("G02", "info", "suspected", path) in said(body)
    assert ("G02", "cost", "confirmed", path) in said(body, decoders=["xgrammar"])
    # A strict schema is held to by some decoder; not all of them ignore the keyword.
    strict = messages(tool(UNIQUE, strict=True))
    assert ("G02", "info", "suspected", path) in said(strict)
    both = said(strict, decoders=["xgrammar", "outlines"])
    assert ("G02", "cost", "confirmed", path) in both
    assert [code for code, *_ in said(body, decoders=["llguidance"])] == ["G03"]


def test_a_session_is_judged_once_for_each_content(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = verdict

    def counted(schema, decoder):
        calls.append(decoder)
        return real(schema, decoder)

    monkeypatch.setattr("cachediag.lint.linted.verdict", counted)
    body = messages(tool(FREE), tool(UNIQUE, "b"))
    lint(session(*[body] * 40), ["xgrammar"])
    assert len(calls) == 2


def test_tokens_are_counted_only_where_tools_change() -> None:
    def never():
        raise AssertionError("nothing changes")

    lint(session(messages(tool(FREE)), messages(tool(FREE))), counter=never)


def test_what_changed_tools_cost() -> None:
    first = messages(tool(FREE), system="Be brief. " * 200)
    later = {**messages(tool(FREE), tool(UNIQUE, "b"), system="Be brief. " * 200)}
    later["messages"] = [
        *first["messages"],
        {"role": "assistant", "content": "Four."},
        {"role": "user", "content": "And now?"},
    ]
    made = lint(session(first, later), counter=lambda: counting("messages").counter)
    (found,) = [each for each in made.found if each.finding.code == "G09"]
    assert found.request == 1
    assert found.finding.path == "tools[1]"
    assert 200 < (found.finding.tokens_lost or 0) < 2000
    assert "S01 tool added or removed in request 1" in found.finding.message
    assert found.finding.message.endswith("one schema to compile.")
    # A request that only counts tokens makes no tool do anything.
    del later["max_tokens"]
    assert "G09" not in [code for code, *_ in said(first, later)]


def test_a_new_description_is_prefilled_again_and_not_compiled() -> None:
    first, later = (messages(tool(FREE, description=text)) for text in ("Book.", "Book a berth."))
    later["messages"] = [*first["messages"], {"role": "user", "content": "And now?"}]
    made = lint(session(first, later), counter=lambda: counting("messages").counter)
    (found,) = [each for each in made.found if each.finding.code == "G09"]
    assert found.finding.path == "tools[0].description"
    assert found.finding.message.endswith("tokens to prefill again.")


def test_findings_that_cost_stand_first() -> None:
    severities = [
        severity for _, severity, *_ in said(messages(tool(FREE), tool(UNIQUE), tool(FREE)))
    ]
    assert severities == sorted(severities, key=["break", "cost", "info"].index)
    assert severities[0] == "cost"


def test_a_clean_tool_says_nothing() -> None:
    closed = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert said(messages(tool(closed))) == []
    assert said(messages()) == []


@pytest.mark.parametrize(
    ("agent", "switch"),
    [
        ("OpenAI/Python 1.99.1", 'with_structured_output(schema, method="json_mode")'),
        ("AsyncOpenAI/Python 1.99.1", 'with_structured_output(schema, method="json_mode")'),
        ("OpenAI/JS 5.1.0", 'withStructuredOutput(schema, { method: "jsonMode" })'),
        ("ai-sdk/openai-compatible/1.0", "supportsStructuredOutputs: false"),
        ("curl/8.5", 'response_format={"type": "json_object"}'),
        (None, 'response_format={"type": "json_object"}'),
    ],
)
def test_the_switch_is_that_of_the_client(agent, switch) -> None:
    assert switch_of(agent) == switch
    asked = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": FREE}}
    body = chat(response_format=asked) | {"model": "Qwen3-Coder-30B-A3B"}
    made = lint(session(body, endpoint="chat", agent=agent))
    (found,) = made.costly
    assert (found.finding.code, found.finding.fix) == ("G10", switch)


@pytest.mark.parametrize("entry", CORPUS, ids=lambda entry: entry.name)
def test_any_schema_is_linted(entry) -> None:
    made = lint(session(json.dumps(messages(tool(entry.schema))).encode()))
    for each in made.found:
        # Every path begins in the body.
        assert (each.finding.path or "").startswith("tools[0]")
        assert each.finding.message


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_told(data: bytes) -> None:
    made = lint(session(data))
    assert len(made.collected.requests) + len(made.collected.problems) == 1
