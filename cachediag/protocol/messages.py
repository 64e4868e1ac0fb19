"""`/v1/messages`: the Anthropic protocol.

Cache order is tools, system, messages, whatever the order of the keys on the wire.
Source: https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

from collections.abc import Iterator

from cachediag.model import Block
from cachediag.protocol.blocks import TOOL_FIRST, Place, block, text_or_list, word
from cachediag.protocol.fields import Field

__all__ = ["FIELDS"]


def _tool(where: Place) -> Iterator[Block]:
    yield block(where.of("tools"), kind="tool", first=TOOL_FIRST)


def _system(where: Place) -> Iterator[Block]:
    yield block(where.of("system"))


def _message(where: Place) -> Iterator[Block]:
    if where.raw[:1] != b"{":
        yield block(where.of("unknown"))
        return
    fields = where.members()
    role = word(fields, "role", "user")
    for name, field in fields.items():
        inside = field.of(role)
        if name == "content":
            yield from text_or_list(inside)
        elif name != "role":
            yield block(inside, kind=name)


FIELDS = (
    Field("tools", "tools", _tool),
    Field("system", "system", _system, may_be_single=True),
    Field("messages", "messages", _message, is_messages=True),
)
