"""`/v1/chat/completions`: the OpenAI protocol, as OpenAI and the local servers speak it.

The chat templates in use print tools and leading system messages first, then the messages.
Source: https://platform.openai.com/docs/api-reference/chat/create
"""

from collections.abc import Iterator

from cachediag.model import Block, Section
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import Place, block, blocks_of_list, place, text_or_list

__all__ = ["PROMPT_FIELDS", "blocks"]

PROMPT_FIELDS = ("tools", "functions", "messages")

_KINDS = {"tool_calls": "tool_use", "function_call": "tool_use"}
_THINKING = ("reasoning_content", "reasoning", "thinking")
_SYSTEM_ROLES = ("system", "developer")


def blocks(top: dict[str, Place]) -> Iterator[Block]:
    """The blocks of a body, in the order in which templates print them.

    Args:
        top: the places of the body's top-level fields.
    """
    for name in ("tools", "functions"):
        if name in top and top[name].raw != b"null":
            for tool in place(top[name], "tools", "tools").items():
                yield block(tool, kind="tool", keep_order=True)
    leading = True
    for index, message in enumerate(top["messages"].items() if "messages" in top else ()):
        for made in _message(message, index, leading=leading):
            leading = leading and made.section == "system"
            yield made


def _message(where: Place, index: int, *, leading: bool) -> Iterator[Block]:
    if where.raw[:1] != b"{":
        yield block(place(where, "messages", "unknown", index))
        return
    fields = where.members()
    role = str(jsontext.decode(fields["role"].raw)) if "role" in fields else "user"
    section: Section = "system" if leading and role in _SYSTEM_ROLES else "messages"
    order = sorted(fields, key=lambda name: (name not in _THINKING, name != "content"))
    for name in order:
        field = place(fields[name], section, role, index)
        if field.raw == b"null" or name == "role":
            continue
        if name == "content":
            yield from text_or_list(field, kind="tool_result" if role == "tool" else None)
        elif name == "tool_calls":
            yield from blocks_of_list(field, kind="tool_use")
        else:
            kind = "thinking" if name in _THINKING else _KINDS.get(name, name)
            yield block(field, kind=kind)
