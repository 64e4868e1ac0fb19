"""The calls of Qwen3-Coder, Qwen3.5 and Qwen3.6: a tag for the function and one a parameter.

Source: `chat_template.jinja` of Qwen/Qwen3-Coder-30B-A3B-Instruct.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cachediag.lint.structural_tag.syntax import Tool, arguments, tag, triggered
from cachediag.model import Json

__all__ = ["SYNTAX", "Qwen3Coder"]


@dataclass(frozen=True, slots=True)
class Qwen3Coder:
    """`<tool_call>`, `<function=NAME>`, a `<parameter=NAME>` for each argument, and the ends."""

    name: str = "qwen3_coder"
    is_json: bool = False

    def calls(self, tools: Sequence[Tool]) -> Json:
        """Free text, and calls in it."""
        return triggered("<tool_call>", [_call(tool) for tool in tools])


def _call(tool: Tool) -> Json:
    content = arguments(tool.schema, "qwen_xml")
    return tag(f"<tool_call>\n<function={tool.name}>\n", content, "\n</function>\n</tool_call>")


SYNTAX = Qwen3Coder()
