"""`/v1/messages` → chat form: blocks joined to texts, tool calls and results taken apart.

The servers agree on the plan (texts of a message are joined, `tool_use` becomes a tool call, each
`tool_result` a message of its own) and differ in the details that `MessageRules` names.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from cachediag.model import Json, Part
from cachediag.protocol import jsontext
from cachediag.render.rendered import Piece
from cachediag.render.turns import NO_PARAMETERS, Call, Tool, Turn, joined

__all__ = ["MessageRules", "messages_tool", "messages_turns"]


@dataclass(frozen=True, slots=True)
class MessageRules:
    """Where servers differ in what they make of a message."""

    joins: str = "\n"
    """Between the texts of one message."""
    joins_results: str = "\n"
    """Between the texts of one tool result."""
    keeps_empty: bool = False
    """An empty text block counts as a text."""
    results_first: bool = False
    """Tool results stand before the message's own text."""
    keeps_thinking: bool = False
    """Thinking is handed to the template."""
    says_nothing: bool = True
    """A message without text, call or result still becomes an empty one."""
    media_speaks: bool = False
    """An image makes a user message, though the text-only path drops the image itself."""


@dataclass(slots=True)
class _Sorted:
    """A message's blocks, by what becomes of them."""

    texts: list[tuple[Piece, ...]]
    calls: list[Call]
    results: list[Turn]
    thinking: list[Piece]
    has_media: bool = False


def messages_turns(part: Part, rules: MessageRules) -> tuple[Turn, ...]:
    """The turns that one message becomes, tool results in messages of their own.

    Args:
        part: the message.
        rules: the server's.
    """
    message = jsontext.decode(part.raw)
    if not isinstance(message, dict):
        return ()
    role, content = str(message.get("role", "user")), message.get("content")
    if not isinstance(content, list):
        text = content if isinstance(content, str) else ""
        return (Turn.of(role, (Piece(text, 0 if part.blocks else None),)),)
    numbers = {block.path: number for number, block in enumerate(part.blocks)}
    found = _Sorted([], [], [], [])
    for index, block in enumerate(content):
        if isinstance(block, dict):
            _sort(block, numbers[f"content[{index}]"], found, rules)
    return tuple(_turns(role, found, rules))


def _sort(block: dict[str, Json], number: int, found: _Sorted, rules: MessageRules) -> None:
    kind = block.get("type")
    if kind == "text":
        text = _string(block.get("text"))
        if text or rules.keeps_empty:
            found.texts.append((Piece(text, number),))
    elif kind == "tool_use":
        arguments = block.get("input") or {}
        found.calls.append(
            Call(
                name=_string(block.get("name")),
                arguments=arguments,
                block=number,
                id=_string(block.get("id")),
                spelled=json.dumps(arguments),
            )
        )
    elif kind == "tool_result":
        text = _result_text(block.get("content"), rules.joins_results)
        extra = {"tool_call_id": _string(block.get("tool_use_id"))}
        found.results.append(Turn.of("tool", (Piece(text, number),), extra=extra))
    elif kind == "thinking" and rules.keeps_thinking:
        found.thinking.append(Piece(_string(block.get("thinking")), number))
    elif kind == "image":
        found.has_media = True


def _turns(role: str, found: _Sorted, rules: MessageRules) -> Iterator[Turn]:
    text = joined(found.texts, rules.joins)
    if role == "user":
        speaks = bool(found.texts) or (found.has_media and rules.media_speaks)
        own = (Turn.of(role, text),) if speaks else ()
        yield from (*found.results, *own) if rules.results_first else (*own, *found.results)
        if not own and not found.results and rules.says_nothing:
            yield Turn.of(role, ())
        return
    if role == "assistant" and (thinking := found.thinking):
        whole = Piece("".join(piece.text for piece in thinking), thinking[0].block)
        yield Turn.of(role, text, found.calls, thinking=whole)
    elif found.texts or found.calls or rules.says_nothing:
        yield Turn.of(role, text, found.calls if role == "assistant" else ())


def _result_text(content: Json, by: str) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for item in content:
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict) and item.get("type") == "text":
            texts.append(_string(item.get("text")))
    return by.join(texts)


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""


def messages_tool(part: Part, number: int) -> Tool:
    """The definition that servers make of a tool: name, description, parameters, in this order.

    Args:
        part: the tool.
        number: the number of its block in the prompt.
    """
    tool = jsontext.decode(part.raw)
    tool = tool if isinstance(tool, dict) else {}
    return Tool.function(
        {
            "name": tool.get("name"),
            "description": tool.get("description") or "",
            "parameters": tool.get("input_schema") or NO_PARAMETERS,
        },
        number,
    )
