import pytest

from cachediag.lint.families import _FAMILIES, family
from cachediag.lint.structural_tag import SYNTAXES


@pytest.mark.parametrize(
    ("model", "tag", "syntax"),
    [
        ("Qwen/Qwen3-8B", "<tool_call>", "hermes"),
        ("Qwen/Qwen2.5-Coder-7B", "<tool_call>", "hermes"),
        ("qwen3-coder-30b", "<tool_call>", "qwen3_coder"),
        ("NousResearch/Hermes-4", "<tool_call>", "hermes"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "<tool_call>", "hermes"),
        ("zai-org/GLM-4.6", "<tool_call>", None),
        ("moonshotai/Kimi-K2", "<|tool_calls_section_begin|>", None),
        ("mistralai/Devstral-Small", "[TOOL_CALLS]", None),
        ("meta-llama/Llama-3.3-70B", "<|python_tag|>", "llama3_json"),
        ("unsloth/Meta-Llama-3.1-8B", "<|python_tag|>", "llama3_json"),
        ("meta-llama/Llama-4-Scout", "<|python_tag|>", None),
        ("deepseek-ai/DeepSeek-V3", "<｜tool▁calls▁begin｜>", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-V3.1/", "<｜tool▁calls▁begin｜>", "deepseek_v31"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "<｜tool▁calls▁begin｜>", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-V4", "<｜tool▁calls▁begin｜>", None),
    ],
)
def test_a_family_is_known_by_the_models_name(model, tag, syntax) -> None:
    found = family(model)
    assert found is not None
    assert (found.tags[0], found.syntax) == (tag, syntax)


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "gpt-5", "my-model", "qwen/other", ""])
def test_a_model_that_is_not_known_has_none(model) -> None:
    assert family(model) is None


def test_all_syntaxes_are_those_of_a_family() -> None:
    assert {each.syntax for each in _FAMILIES if each.syntax} == set(SYNTAXES)
