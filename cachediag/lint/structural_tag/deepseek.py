"""The calls of DeepSeek: V3 and R1 write a block of Markdown, V3.1 the bare arguments.

All calls of an answer stand in one list, each between tokens of its own.
Source: `chat_template` of deepseek-ai/DeepSeek-V3-0324 and deepseek-ai/DeepSeek-V3.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cachediag.lint.structural_tag.syntax import Tool, arguments, tag, triggered
from cachediag.model import Json

__all__ = ["V3", "V31", "DeepSeek"]

_CALLS, _CALLS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL, _CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"


@dataclass(frozen=True, slots=True)
class DeepSeek:
    """One of the two spellings."""

    name: str
    between: str
    """What stands between two calls."""
    before: str
    """What stands before a call's name."""
    opening: str
    """What stands before its arguments."""
    closing: str
    """What stands after them."""
    is_json: bool = True

    def calls(self, tools: Sequence[Tool]) -> Json:
        """Free text, and lists of calls in it."""
        listed = {
            "type": "tags_with_separator",
            "tags": [self._call(tool) for tool in tools],
            "separator": self.between,
            "at_least_one": True,
        }
        return triggered(_CALLS, [tag(_CALLS, listed, _CALLS_END)])

    def _call(self, tool: Tool) -> Json:
        begin = f"{_CALL}{self.before}{tool.name}{self.opening}"
        return tag(begin, arguments(tool.schema), f"{self.closing}{_CALL_END}")


V3 = DeepSeek(
    name="deepseek_v3",
    between="\n",
    before=f"function{_SEPARATOR}",
    opening="\n```json\n",
    closing="\n```",
)
V31 = DeepSeek(name="deepseek_v31", between="", before="", opening=_SEPARATOR, closing="")
