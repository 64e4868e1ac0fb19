"""`/v1/chat/completions`: the OpenAI protocol, as OpenAI and the local servers speak it.

The chat templates in use print tools and leading system messages first, then the messages.
Source: https://platform.openai.com/docs/api-reference/chat/create
"""

from collections.abc import Iterator

from cachediag.model import Block, Part
from cachediag.protocol.blocks import Place, block, blocks_of_list, text_or_list, word
from cachediag.protocol.fields import Field

__all__ = ["FIELDS"]

_KINDS = {"tool_calls": "tool_use", "function_call": "tool_use"}
_THINKING = ("reasoning_content", "reasoning", "thinking")
_SYSTEM_ROLES = ("system", "developer")


def _tool(where: Place) -> Iterator[Block]:
    yield block(where.of("tools"), kind="tool", keep_order=True)


def _message(where: Place) -> Iterator[Block]:
    if where.raw[:1] != b"{":
        yield block(where.of("unknown"))
        return
    fields = where.members()
    role = word(fields, "role", "user")
    order = sorted(fields, key=lambda name: (name not in _THINKING, name != "content"))
    for name in order:
        field = fields[name].of(role)
        if field.raw == b"null" or name == "role":
            continue
        if name == "content":
            yield from text_or_list(field, kind="tool_result" if role == "tool" else None)
        elif name == "tool_calls":
            yield from blocks_of_list(field, kind="tool_use")
        else:
            kind = "thinking" if name in _THINKING else _KINDS.get(name, name)
            yield block(field, kind=kind)


def _is_system(part: Part) -> bool:
    return all(block.role in _SYSTEM_ROLES for block in part.blocks)


FIELDS = (
    Field("tools", "tools", _tool),
    Field("functions", "tools", _tool),
    Field("messages", "messages", _message, is_messages=True, leads_with_system=_is_system),
)
