"""The calls of Llama 3.1 to 3.3: an object of JSON that nothing encloses.

Source: https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from cachediag.lint.structural_tag.syntax import Tool, arguments, tag, triggered
from cachediag.model import Json

__all__ = ["SYNTAX", "Llama3"]


@dataclass(frozen=True, slots=True)
class Llama3:
    """`{"name": NAME, "parameters": {…}}`."""

    name: str = "llama3_json"
    is_json: bool = True

    def calls(self, tools: Sequence[Tool]) -> Json:
        """Free text, and calls in it."""
        return triggered('{"name": ', [_call(tool) for tool in tools])


def _call(tool: Tool) -> Json:
    begin = f'{{"name": {json.dumps(tool.name, ensure_ascii=False)}, "parameters": '
    return tag(begin, arguments(tool.schema), "}")


SYNTAX = Llama3()
