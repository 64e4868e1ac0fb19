"""`/v1/chat/completions` → chat form: what a server does to messages that are in it already."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachediag.model import Json, Part
from cachediag.protocol import bounded, jsontext
from cachediag.render.rendered import Piece
from cachediag.render.turns import NO_PARAMETERS, Call, Tool, Turn, dumped, joined

__all__ = ["ChatRules", "chat_tool", "chat_turns"]


@dataclass(frozen=True, slots=True)
class ChatRules:
    """Where servers differ in what they make of a message."""

    joins: str = "\n"
    """Between the texts of one message."""
    keeps_thinking: bool = False
    """`reasoning_content` is handed to the template."""
    wraps_arguments: bool = False
    """Arguments that are no JSON, or a string, are put into an object, under `value`."""
    part: Callable[[Json], Json] | None = None
    """What becomes of a part of a tool result, where the server hands the list of parts on and
    the template prints it as Python does; None where the server joins their texts."""


def chat_turns(part: Part, rules: ChatRules) -> tuple[Turn, ...]:
    """The turn that one message becomes.

    Args:
        part: the message.
        rules: the server's.
    """
    message = jsontext.decode(part.raw)
    if not isinstance(message, dict):
        return ()
    role, content = str(message.get("role", "user")), message.get("content")
    numbers = {block.path: number for number, block in enumerate(part.blocks)}
    thinking = message.get("reasoning_content")
    extra = {name: message[name] for name in ("tool_call_id", "name") if message.get(name)}
    items = None
    if rules.part is not None and role == "tool" and content and isinstance(content, list):
        items = tuple(rules.part(item) for item in content)
    return (
        Turn.of(
            role,
            _content(content, numbers, rules.joins) if items is None else _listed(items, numbers),
            _calls(message.get("tool_calls"), numbers, wraps=rules.wraps_arguments),
            thinking=Piece(thinking, numbers["reasoning_content"])
            if rules.keeps_thinking and isinstance(thinking, str)
            else None,
            extra=extra,
            items=items,
        ),
    )


def _listed(items: Sequence[Json], numbers: dict[str, int]) -> tuple[Piece, ...]:
    """A list of parts as Python prints it."""
    texts = [(Piece(repr(item), numbers[f"content[{index}]"]),) for index, item in enumerate(items)]
    opening, closing = Piece("[", texts[0][0].block), Piece("]", texts[-1][0].block)
    return (opening, *joined(texts, ", "), closing)


def _content(content: Json, numbers: dict[str, int], by: str) -> tuple[Piece, ...]:
    if isinstance(content, list):
        texts = [
            (Piece(item["text"], numbers[f"content[{index}]"]),)
            for index, item in enumerate(content)
            if isinstance(item, dict)
            and item.get("type") == "text"
            and isinstance(item.get("text"), str)
        ]
        return joined(texts, by)
    # A message without content still has a place: its first block stands for it.
    first = min(numbers.values(), default=None)
    return (Piece(content if isinstance(content, str) else "", numbers.get("content", first)),)


def _calls(calls: Json, numbers: dict[str, int], *, wraps: bool) -> list[Call]:
    made = []
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        function = function if isinstance(function, dict) else {}
        spelled = function.get("arguments", "{}")
        made.append(
            Call(
                name=str(function.get("name", "unknown")),
                arguments=_decoded(spelled, wraps=wraps),
                block=numbers[f"tool_calls[{index}]"],
                id=str(call.get("id", "")) if isinstance(call, dict) else "",
                spelled=spelled if isinstance(spelled, str) else str(spelled),
            )
        )
    return made


def _decoded(spelled: Json, *, wraps: bool) -> Json:
    """The arguments decoded; as they are where they are no JSON."""
    value = _loaded(spelled)
    if not wraps or not isinstance(value, str):
        return value
    again = _loaded(value)
    return again if isinstance(again, dict) else {"value": again}


def _loaded(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return bounded.loads(value)
    except ValueError:
        return value


def chat_tool(part: Part, number: int, *, rewritten: bool) -> Tool | None:
    """The definition that a server hands to the template; None for what is no function.

    Args:
        part: the tool.
        number: the number of its block in the prompt.
        rewritten: the server writes name, description and parameters anew, in this order;
            otherwise the template prints the tool as it was sent.
    """
    tool = jsontext.decode(part.raw)
    if not rewritten:
        return Tool(tool, number, dumped(tool))
    tool = tool if isinstance(tool, dict) else {}
    function = tool.get("function")
    if tool.get("type", "function") != "function" or not isinstance(function, dict):
        return None
    return Tool.function(
        {
            "name": function.get("name", ""),
            "description": function.get("description", ""),
            "parameters": function.get("parameters", NO_PARAMETERS),
        },
        number,
    )
