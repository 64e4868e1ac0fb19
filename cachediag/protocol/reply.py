"""What the model said, out of a response body: text, thinking, tool calls, and how it ended.

A response is JSON or an SSE stream, and may have been cut off anywhere; whatever cannot be read is
left out, nothing here raises.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cachediag.model import Endpoint, Json
from cachediag.protocol import jsontext
from cachediag.protocol.response import events

__all__ = ["Reply", "ReplyCall", "read_reply"]

_ENDED = frozenset({"end_turn", "tool_use", "stop", "tool_calls", "function_call", "completed"})


@dataclass(frozen=True, slots=True)
class ReplyCall:
    """A tool call in a reply."""

    name: str
    arguments: str
    """The arguments as the response spells them: JSON."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a response carries of the tokens that were generated."""

    text: str = ""
    thinking: str = ""
    """Empty where there was none, and where the server left it in the text."""
    calls: tuple[ReplyCall, ...] = ()
    ended: bool = False
    """The model ended its turn; else it was stopped, by a limit or a stop word, or the response
    was cut off."""


@dataclass(slots=True)
class _Draft:
    """A reply while its pieces come in."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: dict[Json, list[str]] = field(default_factory=dict)
    """By the call's index: its name, then the pieces of its arguments."""
    stop: str | None = None

    def call(self, key: Json, name: str, arguments: str) -> None:
        """Begin a call, or go on with one; what is no number may not even be a key."""
        made = self.calls.setdefault(key if isinstance(key, int) else None, [""])
        made[0] = made[0] or name
        made.append(arguments)


def read_reply(endpoint: Endpoint, content_type: str | None, body: bytes) -> Reply | None:
    """Read what the model said out of a response.

    Args:
        endpoint: what was called.
        content_type: the response's content type; the body's first character decides where it is
            missing or wrong.
        body: the whole body, its content-encoding undone; an SSE stream may be incomplete.

    Returns:
        None where the response holds no reply, and for `/v1/responses`, which nothing asks for.
    """
    add = _ADD.get(endpoint)
    if add is None:
        return None
    draft = _Draft()
    for event in events(content_type, body):
        if isinstance(event, dict):
            add(draft, event)
    if not (draft.text or draft.thinking or draft.calls or draft.stop):
        return None
    return Reply(
        text="".join(draft.text),
        thinking="".join(draft.thinking),
        calls=tuple(ReplyCall(name, "".join(parts)) for name, *parts in draft.calls.values()),
        ended=draft.stop in _ENDED,
    )


def _messages(draft: _Draft, event: dict[str, Json]) -> None:
    for index, block in _blocks(event):
        kind = block.get("type")
        if kind in ("text", "text_delta"):
            draft.text.append(_string(block.get("text")))
        elif kind in ("thinking", "thinking_delta"):
            draft.thinking.append(_string(block.get("thinking")))
        elif kind == "tool_use":
            given = block.get("input")
            spelled = jsontext.encode(given).decode() if given else ""
            draft.call(index, _string(block.get("name")), spelled)
        elif kind == "input_json_delta":
            draft.call(index, "", _string(block.get("partial_json")))
    for holder in (event, event.get("delta")):
        if isinstance(holder, dict) and isinstance(holder.get("stop_reason"), str):
            draft.stop = holder["stop_reason"]


def _blocks(event: dict[str, Json]) -> Iterator[tuple[Json, dict[str, Json]]]:
    """The content blocks of a message, or the one that an event opens or fills."""
    content = event.get("content")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, dict):
            yield index, block
    for name in ("content_block", "delta"):
        block = event.get(name)
        if isinstance(block, dict):
            yield event.get("index"), block


def _chat(draft: _Draft, event: dict[str, Json]) -> None:
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or choice.get("index", 0) != 0:
        return
    said = choice.get("delta") or choice.get("message")
    if isinstance(said, dict):
        draft.text.append(_string(said.get("content")))
        draft.thinking.append(_string(said.get("reasoning_content") or said.get("reasoning")))
        calls = said.get("tool_calls")
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                name, spelled = function.get("name"), function.get("arguments")
                draft.call(call.get("index", number), _string(name), _string(spelled))
    if isinstance(choice.get("finish_reason"), str):
        draft.stop = choice["finish_reason"]


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""


_ADD = {"messages": _messages, "chat": _chat}
