"""What is emitted; that engines accept and reject by it is held by the live tests."""

import json

import pytest

from cachediag.errors import UsageError
from cachediag.lint.structural_tag import (
    SYNTAXES,
    Tool,
    emit,
    syntax,
    syntax_of,
    syntax_of_template,
)

from .samples import ACCEPTED, READ, REJECTED, TOOLS, WRITE


def elements(name, tools=TOOLS, **options):
    made = emit(tools, SYNTAXES[name], **options)
    assert made["type"] == "structural_tag"
    assert made["format"]["type"] == "sequence"
    return made["format"]["elements"]


def test_a_call_of_hermes() -> None:
    _, calls = elements("hermes", [READ])
    assert calls == {
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": [
            {
                "type": "tag",
                "begin": '<tool_call>\n{"name": "read_file", "arguments": ',
                "content": {"type": "json_schema", "json_schema": READ.schema},
                "end": "}\n</tool_call>",
            }
        ],
    }


def test_a_call_of_qwen3_coder_is_written_parameter_by_parameter() -> None:
    _, calls = elements("qwen3_coder", [WRITE])
    (made,) = calls["tags"]
    assert made["begin"] == "<tool_call>\n<function=write>\n"
    assert made["content"]["style"] == "qwen_xml"
    assert made["end"] == "\n</function>\n</tool_call>"


def test_the_calls_of_deepseek_stand_in_a_list() -> None:
    _, calls = elements("deepseek_v3")
    (listed,) = calls["tags"]
    assert listed["begin"] == calls["triggers"][0] == "<｜tool▁calls▁begin｜>"
    assert [each["begin"] for each in listed["content"]["tags"]] == [
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>write\n```json\n",
    ]


@pytest.mark.parametrize("name", SYNTAXES)
def test_a_tag_begins_with_what_triggers_it(name) -> None:
    _, calls = elements(name)
    (trigger,) = calls["triggers"]
    assert all(each["begin"].startswith(trigger) for each in calls["tags"])


@pytest.mark.parametrize("name", SYNTAXES)
def test_thinking_is_optional_unless_the_prompt_began_it(name) -> None:
    first, _ = elements(name)
    begun, _ = elements(name, thinking=True)
    assert first == {"type": "optional", "content": {**begun, "begin": "<think>"}}
    assert (begun["begin"], begun["end"]) == ("", "</think>")


def test_without_tools_all_is_free() -> None:
    assert elements("hermes", [])[1] == {"type": "any_text"}


@pytest.mark.parametrize("name", ["hermes", "llama3_json"])
def test_a_name_is_written_as_json(name) -> None:
    _, calls = elements(name, [Tool('say "hi"')])
    (made,) = calls["tags"]
    assert json.dumps('say "hi"') in made["begin"]
    assert made["content"]["json_schema"] == {"type": "object"}


def test_every_syntax_has_samples_of_both_kinds() -> None:
    assert list(SYNTAXES) == list(ACCEPTED) == list(REJECTED)
    for name in SYNTAXES:
        assert len(ACCEPTED[name]) >= 6
        assert len(REJECTED[name]) >= 9


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("qwen2.5", "hermes"),
        ("qwen3", "hermes"),
        ("Qwen/Qwen3-8B-MLX-4bit", "hermes"),
        ("mlx-community/Qwen3-Coder-30B-A3B-Instruct-4bit", "qwen3_coder"),
        ("qwen3.6", "qwen3_coder"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3_json"),
        ("deepseek-ai/DeepSeek-R1", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-V3-0324", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v31"),
        ("some/Other-7B", None),
        ("claude-opus-4-7", None),
    ],
)
def test_by_the_models_name(model, name) -> None:
    found = syntax_of(model)
    assert (found.name if found else None) == name


TEMPLATES = {
    "hermes": '{{- "<tool_call>{\\"name\\": <name>, \\"arguments\\": <args>}" }}',
    "qwen3_coder": "{{- '<tool_call>\\n<function=' + name + '>\\n<parameter=' }}",
    "deepseek_v3": "{{'<｜tool▁sep｜>' + name + '\\n' + '```json'}}",
    "deepseek_v31": "{{name + '<｜tool▁sep｜>' + arguments}}",
    "llama3_json": "{{- '\"parameters\": ' }}{{ '<|eot_id|>' }}",
    None: "{{ message.content }}",
}


@pytest.mark.parametrize(("name", "template"), TEMPLATES.items())
def test_by_the_models_template(name, template, tmp_path) -> None:
    found = syntax_of_template(template)
    assert (found.name if found else None) == name
    # The directory's name says otherwise.
    directory = tmp_path / "Llama-3.1-8B"
    directory.mkdir()
    (directory / "chat_template.jinja").write_text(template)
    assert syntax_of(str(directory)) == found


def test_a_syntax_that_is_none() -> None:
    with pytest.raises(UsageError, match="no syntax of tool calls is called 'xml'") as told:
        syntax("xml")
    assert "hermes, qwen3_coder" in (told.value.remedy or "")
