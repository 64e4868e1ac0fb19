"""A prompt's parts → turns, each part converted once and remembered."""

from collections.abc import Callable, Iterator, Sequence

from cachediag.model import Endpoint, Part, Prompt, Run
from cachediag.protocol import jsontext
from cachediag.render.conversion.responses import responses_tool, responses_turns
from cachediag.render.rendered import Piece
from cachediag.render.turns import Tool, Turn, joined

__all__ = ["Reader", "system_turn"]

_Convert = Callable[[Part], tuple[Turn, ...]]
_Define = Callable[[Part, int], Tool | None]
_Made = tuple[tuple[Turn, ...], int]


class Reader:
    """Converts the parts of prompts as one server does. What it has converted it remembers.

    Args:
        system: the parts of a top-level system field → its turn; None where it is left out.
        messages: a message of `/v1/messages` → its turns.
        message_tool: a tool of `/v1/messages` and its block's number → its definition.
        chat: a message of `/v1/chat/completions` → its turns.
        chat_tool: the same for a tool of `/v1/chat/completions`; None where it is left out.
    """

    def __init__(
        self,
        *,
        system: Callable[[Run], Turn | None],
        messages: _Convert,
        message_tool: _Define,
        chat: _Convert,
        chat_tool: _Define,
    ) -> None:
        self._system = system
        self._convert: dict[Endpoint, _Convert] = {
            "messages": messages,
            "count_tokens": messages,
            "chat": chat,
            "responses": responses_turns,
        }
        self._define: dict[Endpoint, _Define] = {
            "messages": message_tool,
            "count_tokens": message_tool,
            "chat": chat_tool,
            "responses": responses_tool,
        }
        self._turns: dict[Endpoint, dict[Part, _Made]] = {name: {} for name in self._convert}
        self._tools: dict[tuple[Part, ...], tuple[Tool, ...]] = {}
        self._systems: dict[tuple[Part, ...], Turn | None] = {}

    def system(self, prompt: Prompt) -> tuple[Turn, int] | None:
        """The turn of the top-level system field, and the number of its first block."""
        number = 0
        for run in prompt.runs:
            if run.section == "system" and not run.is_messages:
                if run.parts not in self._systems:
                    self._systems[run.parts] = self._system(run)
                turn = self._systems[run.parts]
                return None if turn is None else (turn, number)
            number += len(run.parts)
        return None

    def tools(self, prompt: Prompt) -> tuple[Tool, ...]:
        """The tools' definitions, as the template is given them."""
        for run in prompt.runs:
            if run.path == "tools":
                if run.parts not in self._tools:
                    define = self._define[prompt.endpoint]
                    # The tools stand first: a tool's number is its block's.
                    defined = (define(part, number) for number, part in enumerate(run.parts))
                    self._tools[run.parts] = tuple(tool for tool in defined if tool is not None)
                return self._tools[run.parts]
        return ()

    def messages(self, prompt: Prompt) -> Iterator[tuple[tuple[Turn, ...], int]]:
        """Each message's turns, with the number of the block that they count from."""
        convert, known = self._convert[prompt.endpoint], self._turns[prompt.endpoint]
        number = 0
        for run in prompt.runs:
            if not run.is_messages:
                number += sum([len(part.blocks) for part in run.parts])
                continue
            for part in run.parts:
                made = known.get(part)
                if made is None:
                    made = known[part] = (convert(part), len(part.blocks))
                yield made[0], number
                number += made[1]


def system_turn(run: Run, joins: str, edit: Callable[[str], str] | None = None) -> Turn | None:
    """The turn of the top-level system field; None where it is an empty string.

    Args:
        run: the field's parts.
        joins: what stands between the texts of two blocks.
        edit: what is done to each text first; a text that it empties is left out.
    """
    pieces = joined(list(_texts(run, edit)), joins)
    if run.indexes is None and not any(piece.text for piece in pieces):
        return None
    return Turn.of("system", pieces)


def _texts(run: Run, edit: Callable[[str], str] | None) -> Iterator[Sequence[Piece]]:
    for number, part in enumerate(run.parts):
        value = jsontext.decode(part.raw)
        if isinstance(value, dict):
            value = value.get("text", "") if value.get("type") == "text" else None
        if not isinstance(value, str):
            continue
        text = edit(value) if edit else value
        if text or not edit:
            yield (Piece(text, number),)
