"""`/v1/messages`: the Anthropic protocol.

Cache order is tools, system, messages, whatever the order of the keys on the wire.
Source: https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

from collections.abc import Iterator

from cachediag.model import Block
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import TOOL_FIRST, Place, block, place, text_or_list

__all__ = ["PROMPT_FIELDS", "blocks"]

PROMPT_FIELDS = ("tools", "system", "messages")


def blocks(top: dict[str, Place]) -> Iterator[Block]:
    """The blocks of a body, in cache order.

    Args:
        top: the places of the body's top-level fields.
    """
    if "tools" in top and top["tools"].raw != b"null":
        for tool in place(top["tools"], "tools", "tools").items():
            yield block(tool, kind="tool", first=TOOL_FIRST)
    if "system" in top:
        yield from text_or_list(place(top["system"], "system", "system"))
    if "messages" in top:
        for index, message in enumerate(top["messages"].items()):
            yield from _message(message, index)


def _message(where: Place, index: int) -> Iterator[Block]:
    if where.raw[:1] != b"{":
        yield block(place(where, "messages", "unknown", index))
        return
    fields = where.members()
    role = jsontext.decode(fields["role"].raw) if "role" in fields else "user"
    for name, field in fields.items():
        inside = place(field, "messages", str(role), index)
        if name == "content":
            yield from text_or_list(inside)
        elif name != "role":
            yield block(inside, kind=name)
