"""`/v1/responses`: the newer OpenAI protocol, whose `input` is a list of typed items.

Source: https://platform.openai.com/docs/api-reference/responses/create
"""

from collections.abc import Iterator

from cachediag.model import Block
from cachediag.protocol.blocks import Place, block, text_or_list, word
from cachediag.protocol.fields import Field

__all__ = ["FIELDS"]

_ITEMS = {
    "function_call": ("tool_use", "assistant"),
    "custom_tool_call": ("tool_use", "assistant"),
    "function_call_output": ("tool_result", "tool"),
    "custom_tool_call_output": ("tool_result", "tool"),
    "reasoning": ("thinking", "assistant"),
}


def _tool(where: Place) -> Iterator[Block]:
    yield block(where.of("tools"), kind="tool", keep_order=True)


def _instructions(where: Place) -> Iterator[Block]:
    yield block(where.of("system"))


def _item(where: Place) -> Iterator[Block]:
    if where.raw[:1] != b"{":
        yield block(where.of("user"))
        return
    fields = where.members()
    kind = word(fields, "type", "message")
    if kind == "message" and "content" in fields:
        yield from text_or_list(fields["content"].of(word(fields, "role", "user")))
        return
    known, role = _ITEMS.get(kind, (kind, "assistant"))
    yield block(where.of(role), kind=known)


FIELDS = (
    Field("tools", "tools", _tool),
    Field("instructions", "system", _instructions, may_be_single=True),
    Field("input", "messages", _item, is_messages=True, may_be_single=True),
)
