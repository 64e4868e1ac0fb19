"""`/v1/responses` → chat form. No server's conversion was held against this one."""

from cachediag.model import Json, Part
from cachediag.protocol import jsontext
from cachediag.render.rendered import Piece
from cachediag.render.turns import Call, Tool, Turn, joined

__all__ = ["responses_tool", "responses_turns"]

_TEXTS = ("input_text", "output_text", "text")


def responses_turns(part: Part) -> tuple[Turn, ...]:
    """The turn that one item of `input` becomes; none for reasoning and what is not known."""
    item = jsontext.decode(part.raw)
    if isinstance(item, str):
        return (Turn.of("user", (Piece(item, 0),)),)
    if not isinstance(item, dict):
        return ()
    kind = item.get("type", "message")
    if kind == "function_call":
        spelled = str(item.get("arguments", "{}"))
        call = Call(str(item.get("name", "")), spelled, 0, str(item.get("call_id", "")), spelled)
        return (Turn.of("assistant", (), (call,)),)
    if kind == "function_call_output":
        extra = {"tool_call_id": item.get("call_id", "")}
        return (Turn.of("tool", (Piece(_output(item.get("output")), 0),), extra=extra),)
    if kind == "message":
        return (Turn.of(str(item.get("role", "user")), _content(item.get("content"))),)
    return ()


def _output(output: Json) -> str:
    return output if isinstance(output, str) else "\n".join(text for text, _ in _content(output))


def _content(content: Json) -> tuple[Piece, ...]:
    if isinstance(content, str):
        return (Piece(content, 0),)
    texts = [
        (Piece(item["text"], number),)
        for number, item in enumerate(content if isinstance(content, list) else ())
        if isinstance(item, dict)
        and item.get("type") in _TEXTS
        and isinstance(item.get("text"), str)
    ]
    return joined(texts, "\n")


def responses_tool(part: Part, number: int) -> Tool | None:
    """The definition of a function; None for the tools that the hosted API brings itself."""
    tool = jsontext.decode(part.raw)
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return None
    function = {name: tool[name] for name in ("name", "description", "parameters") if name in tool}
    return Tool.function(function, number)
