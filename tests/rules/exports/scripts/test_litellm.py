"""The callback, called as LiteLLM calls it; LiteLLM itself is not there."""

import asyncio
import json
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Data = dict[str, Any]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Data, str], Any]]:
    """Hand a request to the callback."""
    module = types.ModuleType("litellm.integrations.custom_logger")
    module.CustomLogger = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    name = "cachediag.rules.exports.scripts.litellm"
    monkeypatch.delitem(sys.modules, name, raising=False)
    from cachediag.rules.exports.scripts.litellm import cachediag_rules

    def call(data: Data, call_type: str) -> Any:
        return asyncio.run(cachediag_rules.async_pre_call_hook(object(), object(), data, call_type))

    yield call
    sys.modules.pop(name, None)


@pytest.mark.parametrize("call_type", ["anthropic_messages", "pass_through_endpoint"])
def test_the_prompt_is_changed_in_what_litellm_goes_on_with(call, sent, ruled, call_type):
    own = object()
    data = {**json.loads(sent), "litellm_logging_obj": own, "max_tokens": 5}
    assert call(data, call_type) is data
    assert data == {**json.loads(ruled), "litellm_logging_obj": own, "max_tokens": 5}


def test_a_system_prompt_that_is_dropped_is_gone(call, monkeypatch):
    from cachediag.rules.exports.scripts import common
    from cachediag.rules.rule import Rule

    rule = Rule("all", "V01", "drop-block", "messages", "system", pattern=r"\Acch=\d;\z")
    monkeypatch.setattr(common, "RULES", (rule,))
    assert call({"system": "cch=1;", "messages": []}, "anthropic_messages") == {"messages": []}


@pytest.mark.parametrize("call_type", ["completion", "acompletion"])
def test_chat(call, call_type):
    data = {"model": "m", "messages": [{"role": "system", "content": "It is 12 o'clock."}]}
    assert call(data, call_type)["messages"][0]["content"] == "It is  o'clock."


@pytest.mark.parametrize("call_type", ["aembedding", "aresponses", "acompletion"])
def test_other_calls_are_left_alone(call, sent, call_type):
    data = json.loads(sent)
    parts = dict(data)
    assert call(data, call_type) is data
    assert all(data[name] is part for name, part in parts.items())


def test_what_cannot_be_written_as_json_passes(call, sent, caplog):
    data = {**json.loads(sent), "messages": [object()]}
    parts = dict(data)
    assert call(data, "anthropic_messages") is data
    assert data == parts
    assert len(caplog.records) == 1


def test_lone_surrogates_come_through(call, sent):
    data = {**json.loads(sent), "instructions": "\ud800"}
    assert len(call(data, "anthropic_messages")["system"]) == 1
    assert data["instructions"] == "\ud800"
