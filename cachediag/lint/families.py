"""How families of models write tool calls, known by the model's name."""

import re
from dataclasses import dataclass

__all__ = ["Family", "family"]


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose published chat templates ask for calls in the same form."""

    names: str
    """A pattern of what their names hold, in lower case."""
    tags: tuple[str, ...]
    """That calls are written in; the one that is named to the user first."""
    syntax: str | None = None
    """The name of the structural tag's syntax; None where there is none."""


_DEEPSEEK = ("<｜tool▁calls▁begin｜>",)

# The more particular first: a distilled model has the template of the one that it learned from.
_FAMILIES = (
    Family(r"deepseek-v3\.1|deepseek-v3\.2-exp", _DEEPSEEK, "deepseek_v31"),
    Family(r"deepseek-(?:v3(?!\.)|r1)", _DEEPSEEK, "deepseek_v3"),
    Family(r"deepseek", _DEEPSEEK),
    Family(r"qwen3-coder|qwen3\.[5-9]", ("<tool_call>", "<function=…>"), "qwen3_coder"),
    Family(r"qwen\d?(?:[.-]?\d)*-?coder", ("<tool_call>", "<function=…>"), "hermes"),
    Family(r"qwen|qwq|hermes", ("<tool_call>",), "hermes"),
    Family(r"glm-?4\.[5-9]|glm-?5", ("<tool_call>",)),
    Family(r"kimi", ("<|tool_calls_section_begin|>",)),
    Family(r"mistral|ministral|devstral|codestral|mixtral", ("[TOOL_CALLS]",)),
    Family(r"llama-?3", ("<|python_tag|>", "<function=…>"), "llama3_json"),
    Family(r"llama-?4", ("<|python_tag|>", "<function=…>")),
)


def family(model: str) -> Family | None:
    """The family of a model; None where its name tells none.

    Args:
        model: its name, its directory, or what a request asks for.
    """
    name = model.rstrip("/").rpartition("/")[2].lower()
    return next((each for each in _FAMILIES if re.search(each.names, name)), None)
