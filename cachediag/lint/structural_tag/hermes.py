"""The calls of Hermes, Qwen2.5 and Qwen3: an object of JSON between tags.

Source: `chat_template` of Qwen/Qwen3-8B and NousResearch/Hermes-3-Llama-3.1-8B.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from cachediag.lint.structural_tag.syntax import Tool, arguments, tag, triggered
from cachediag.model import Json

__all__ = ["SYNTAX", "Hermes"]


@dataclass(frozen=True, slots=True)
class Hermes:
    """`<tool_call>`, a line of JSON with `name` and `arguments`, `</tool_call>`."""

    name: str = "hermes"
    is_json: bool = True

    def calls(self, tools: Sequence[Tool]) -> Json:
        """Free text, and calls in it."""
        return triggered("<tool_call>", [_call(tool) for tool in tools])


def _call(tool: Tool) -> Json:
    begin = f'<tool_call>\n{{"name": {json.dumps(tool.name, ensure_ascii=False)}, "arguments": '
    return tag(begin, arguments(tool.schema), "}\n</tool_call>")


SYNTAX = Hermes()
