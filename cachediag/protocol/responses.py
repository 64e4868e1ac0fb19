"""`/v1/responses`: the newer OpenAI protocol, whose `input` is a list of typed items.

Source: https://platform.openai.com/docs/api-reference/responses/create
"""

from collections.abc import Iterator

from cachediag.model import Block
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import Place, block, place, text_or_list

__all__ = ["PROMPT_FIELDS", "blocks"]

PROMPT_FIELDS = ("tools", "instructions", "input")

_ITEMS = {
    "function_call": ("tool_use", "assistant"),
    "custom_tool_call": ("tool_use", "assistant"),
    "function_call_output": ("tool_result", "tool"),
    "custom_tool_call_output": ("tool_result", "tool"),
    "reasoning": ("thinking", "assistant"),
}


def blocks(top: dict[str, Place]) -> Iterator[Block]:
    """The blocks of a body: tools, instructions, input.

    Args:
        top: the places of the body's top-level fields.
    """
    if "tools" in top and top["tools"].raw != b"null":
        for tool in place(top["tools"], "tools", "tools").items():
            yield block(tool, kind="tool", keep_order=True)
    if "instructions" in top:
        yield from text_or_list(place(top["instructions"], "system", "system"))
    if "input" not in top:
        return
    given = place(top["input"], "messages", "user", 0)
    if given.raw[:1] != b"[":
        yield from text_or_list(given)
        return
    for index, item in enumerate(given.items()):
        yield from _item(place(item, "messages", "user", index), index)


def _item(where: Place, index: int) -> Iterator[Block]:
    if where.raw[:1] != b"{":
        yield block(where)
        return
    fields = where.members()
    kind = str(jsontext.decode(fields["type"].raw)) if "type" in fields else "message"
    if kind == "message" and "content" in fields:
        role = str(jsontext.decode(fields["role"].raw)) if "role" in fields else "user"
        yield from text_or_list(place(fields["content"], "messages", role, index))
        return
    known, role = _ITEMS.get(kind, (kind, "assistant"))
    yield block(place(where, "messages", role, index), kind=known)
