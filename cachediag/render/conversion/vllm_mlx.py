"""What vllm-mlx does between the body of a request and its chat template, release by release.

Read in the released packages, and held against them by the live tests: `api/anthropic_adapter.py`
(`/v1/messages` → chat), `api/utils.py` (`extract_multimodal_content`), `server.py`
(`_normalize_messages`, forced tools), `api/prompt_canonicalize.py`, `engine/simple.py` and
`engine/chat_template_safety.py`. Source: https://pypi.org/project/vllm-mlx/

- Texts of a message are joined by a line end, and stand before its tool results.
- Without a tool parser that knows the model's own format (`--tool-call-parser`), calls and results
  are written into the text: `[Calling tool: NAME(JSON)]`, `[Tool Result (ID)]: …`.
- From 0.2.8 messages of one role that follow one another become one, a blank line between them;
  until 0.5.0 tool results too, and of two assistant messages only the first keeps its calls.
- The billing header: kept before 0.2.8; from 0.2.8 deleted wherever it stands in the top-level
  system text; from 0.5.0 at the start of a line; from 0.4.0 at the start of a line in any system
  message of any protocol.
- A tool result that a chat client sends as a list of parts is printed as Python prints the list.
- From 0.5.0 every system message of `/v1/messages` is moved to the front.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from cachediag.model import Json, Part, Prompt, Run
from cachediag.protocol import jsontext
from cachediag.render.conversion.chat import ChatRules, chat_tool, chat_turns
from cachediag.render.conversion.messages import MessageRules, messages_tool, messages_turns
from cachediag.render.conversion.reading import Read, Reader, fronted, system_turn
from cachediag.render.memo import Memo
from cachediag.render.rendered import Piece
from cachediag.render.turns import Talk, Tool, Turn, cut, joined, shifted, without

__all__ = ["ANYWHERE", "AT_LINE_START", "VllmMlxConversion"]

ANYWHERE = re.compile(r"x-anthropic-billing-header:[^\n]*\n?")
AT_LINE_START = re.compile(r"(?im)^x-anthropic-billing-header:[^\n]*(?:\n|\Z)")

_CALL_NAMED = (
    "[IMPORTANT INSTRUCTION] You MUST call the `{0}` function. Do NOT respond with plain text. "
    "Respond ONLY with a tool call to `{0}`. This is mandatory."
)
_CALL_ANY = (
    "[IMPORTANT INSTRUCTION] You MUST call at least one of the available tools. Do NOT respond "
    "with plain text only."
)


_FEW = 64
"""System messages that are remembered: they are long, and some clients write a new line into
each."""


class _Forced(NamedTuple):
    """What `tool_choice` demands: no tools at all, one of them, or any."""

    none: bool = False
    name: str | None = None
    required: bool = False


class VllmMlxConversion:
    """One release's conversion. Remembers what it has converted.

    Args:
        release: the release, such as `(0, 6, 0)`.
        native_tools: the tool parser hands calls and results to the template as such.
        strips: the billing header is removed as the release does it.
    """

    def __init__(
        self, release: tuple[int, ...], *, native_tools: bool, strips: bool = True
    ) -> None:
        self._release = release
        self._strips = strips
        self._native = native_tools
        self._readers: dict[bool, Reader] = {}
        self._edited: Memo[tuple[Turn, re.Pattern[str]], Turn] = Memo(_FEW)
        self._systems: Memo[tuple[Piece, ...], Turn] = Memo(_FEW)
        self._fronted: Memo[tuple[tuple[Turn, int], ...], Turn] = Memo(_FEW)
        self._instructed: Memo[tuple[Turn | None, str], Turn] = Memo(_FEW)
        self._merged: dict[tuple[Turn, Turn, int], Turn] = {}
        self._unclosed: dict[Turn, Turn] = {}

    def talk(self, prompt: Prompt, *, thinks: bool) -> Talk:
        """All that the template is given for a request.

        Args:
            prompt: the request.
            thinks: the server's own choice of `enable_thinking`: false for models whose name
                says `coder`.
        """
        closes = self._release >= (0, 4, 0) and self._streams(prompt)
        reader = self._reader(closes=closes)
        fronts = self._release >= (0, 5, 0) and prompt.endpoint != "chat"
        read = reader.messages(prompt, takes_system=fronts)
        turns, firsts, systems = read.turns, read.firsts, read.systems
        system = reader.system(prompt)
        if system is not None or read.moved:
            systems = self._front(system, read)
        if self._release >= (0, 4, 0) and self._strips:
            for number in systems:
                turns[number] = self._without(turns[number], AT_LINE_START)
        forced, tools = _forced(prompt), reader.tools(prompt)
        if forced.none and self._release >= (0, 2, 8):
            tools = ()
        forces = self._release >= (0, 3, 0) and bool(tools)
        if forces and (forced.name or forced.required):
            tools, systems = self._force(forced, tools, read, systems)
        options = self._options(prompt, thinks=thinks, forced=forces and bool(forced.name))
        return Talk(tools, turns, firsts, systems, options)

    def _streams(self, prompt: Prompt) -> bool:
        """Whether a request takes the streaming path, which from 0.2.8 all with tools do."""
        if prompt.params.get("stream") == b"true":
            return True
        tools = any(run.path == "tools" and run.parts for run in prompt.runs)
        return tools and self._release >= (0, 2, 8) and not _forced(prompt).none

    def _options(self, prompt: Prompt, *, thinks: bool, forced: bool) -> dict[str, Json]:
        params, chat = prompt.params, prompt.endpoint == "chat"
        options: dict[str, Json] = {"enable_thinking": thinks if self._streams(prompt) else True}
        asked = jsontext.decode(params.get("enable_thinking", b"null"))
        if chat and self._release >= (0, 2, 8) and isinstance(asked, bool):
            options["enable_thinking"] = asked
        if forced:
            options["enable_thinking"] = False
        effort = jsontext.decode(params.get("reasoning_effort", b"null"))
        if chat and self._release >= (0, 5, 0) and effort is not None:
            options["reasoning_effort"] = effort
        more = jsontext.decode(params.get("chat_template_kwargs", b"null"))
        if isinstance(more, dict) and self._release >= ((0, 2, 9) if chat else (0, 3, 0)):
            options.update(more)
        return options

    def _stripped(self, system: Turn) -> Turn:
        """The top-level system text as the adapter leaves it."""
        if self._release < (0, 2, 8) or not self._strips:
            return system
        return self._without(system, AT_LINE_START if self._release >= (0, 5, 0) else ANYWHERE)

    def _without(self, turn: Turn, pattern: re.Pattern[str]) -> Turn:
        return self._edited.get((turn, pattern), self._new_without)

    def _new_without(self, key: tuple[Turn, re.Pattern[str]]) -> Turn:
        turn, pattern = key
        content = without(turn.content, pattern)
        if content is turn.content:
            return turn
        # What differed in the line that is gone is one system message now.
        return self._systems.get(content, turn.saying)

    def _join(self, before: Turn, turn: Turn, distance: int, *, closes: bool) -> Turn | None:
        if not self._merges(before, turn):
            return None
        key = (before, turn, distance)
        if key not in self._merged:
            first, second = (self._unclosed.get(each, each) for each in (before, turn))
            more = shifted(second.content, distance)
            merged = first.saying(joined((first.content, more), "\n\n"))
            self._merged[key] = self._closed(merged) if closes else merged
        return self._merged[key]

    def _closed(self, turn: Turn) -> Turn:
        """A turn with its thinking closed; what it was is kept, for it may yet be merged."""
        if turn.role != "assistant" or "<think>" not in turn.text:
            return turn
        closed = _thinking_closed(turn)
        if closed is not turn:
            self._unclosed[closed] = turn
        return closed

    def _merges(self, before: Turn, turn: Turn) -> bool:
        if before.role != turn.role or self._release < (0, 2, 8):
            return False
        if before.items is not None or turn.items is not None:
            return False
        if self._release < (0, 6, 0):
            return True
        return turn.role in ("system", "user", "assistant") and not (before.calls or turn.calls)

    def _front(self, system: tuple[Turn, int] | None, read: Read) -> list[int]:
        """Put the system message at the front, with those that were taken out of the others.

        Returns:
            Which of the turns are system messages then.
        """
        moved = list(read.moved)
        if system is not None:
            moved.insert(0, (self._stripped(system[0]), system[1]))
        turn, first = moved[0] if not read.moved else (self._joined(tuple(moved)), 0)
        if read.turns and (
            merged := self._join(turn, read.turns[0], read.firsts[0] - first, closes=False)
        ):
            read.turns[0], read.firsts[0] = merged, first
            return read.systems
        read.turns.insert(0, turn)
        read.firsts.insert(0, first)
        return [0, *[number + 1 for number in read.systems]]

    def _joined(self, moved: tuple[tuple[Turn, int], ...]) -> Turn:
        return self._fronted.get(moved, partial(fronted, by="\n\n"))

    def _force(
        self, forced: _Forced, tools: tuple[Tool, ...], read: Read, systems: list[int]
    ) -> tuple[tuple[Tool, ...], list[int]]:
        """Tell the model to call a tool, at the end of the first system message.

        Returns:
            The tools that are left, and which of the turns are system messages then.
        """
        text = _CALL_NAMED.format(forced.name) if forced.name else _CALL_ANY
        system = read.turns[systems[0]] if systems else None
        told = self._instructed.get((system, text), _instructed)
        if systems:
            read.turns[systems[0]] = told
        else:
            read.turns.insert(0, told)
            read.firsts.insert(0, 0)
            systems = [0]
        if forced.name is None:
            return tools, systems
        named = (tool for tool in tools if tool.value["function"]["name"] == forced.name)
        return tuple(named), systems

    def _reader(self, *, closes: bool) -> Reader:
        if closes not in self._readers:
            self._readers[closes] = self._new_reader(closes=closes)
        return self._readers[closes]

    def _new_reader(self, *, closes: bool) -> Reader:
        messages = MessageRules(
            keeps_empty=self._release < (0, 5, 0), media_speaks=self._release >= (0, 6, 0)
        )
        part: Callable[[Json], Json] = _as_object
        if self._native:
            part = _as_string if closes else _as_dict
        chat = ChatRules(wraps_arguments=closes, part=part)

        join = partial(self._join, closes=closes)

        def finish(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
            finished = list[Turn]()
            for turn in map(self._finished, turns):
                closed = self._closed(turn) if closes else turn
                merged = join(finished[-1], closed, 0) if finished else None
                if merged is None:
                    finished.append(closed)
                else:
                    finished[-1] = merged
            return tuple(finished)

        def system(run: Run) -> Turn | None:
            return system_turn(run, "\n")

        def chat_definition(part: Part, number: int) -> Tool | None:
            return chat_tool(part, number, rewritten=True)

        return Reader(
            system=system,
            messages=lambda part: finish(messages_turns(part, messages)),
            message_tool=messages_tool,
            chat=lambda part: finish(chat_turns(part, chat)),
            chat_tool=chat_definition,
            join=join,
        )

    def _finished(self, turn: Turn) -> Turn:
        if turn.role == "developer" and self._release >= (0, 2, 8):
            turn = Turn.of("system", turn.content)
        return turn if self._native else _in_words(turn)


def _instructed(key: tuple[Turn | None, str]) -> Turn:
    """A system message with an instruction at its end, or one of the instruction alone."""
    system, text = key
    if system is None:
        return Turn.of("system", (Piece(text, None),))
    return system.saying((*system.content, Piece(f"\n\n{text}", None)))


_PART_FIELDS = ("type", "text", "image_url", "video", "video_url", "audio_url")


def _fields(part: Json) -> list[tuple[str, Json]]:
    part = part if isinstance(part, dict) else {}
    return [(name, part.get(name)) for name in _PART_FIELDS]


class _Object(NamedTuple):
    """A part as an object of the server, which prints its fields."""

    fields: list[tuple[str, Json]]

    def __repr__(self) -> str:
        return f"ContentPart({', '.join(f'{name}={value!r}' for name, value in self.fields)})"


def _as_object(part: Json) -> Json:
    return _Object(_fields(part))


def _as_dict(part: Json) -> Json:
    return dict(_fields(part))


def _as_string(part: Json) -> Json:
    """The part went through JSON, which has no way to write it but as a string."""
    return " ".join(f"{name}={value!r}" for name, value in _fields(part))


def _in_words(turn: Turn) -> Turn:
    """A turn whose calls, or whose result, are written into its text."""
    if turn.role == "tool":
        opening = f"[Tool Result ({turn.extra.get('tool_call_id', '')})]: "
        return Turn.of("user", (Piece(opening, turn.first), *turn.content))
    if turn.role != "assistant" or not turn.calls:
        return turn
    calls = [(Piece(f"[Calling tool: {c.name}({c.spelled})]", c.block),) for c in turn.calls]
    texts: list[Sequence[Piece]] = [turn.content] if turn.text else []
    return Turn.of("assistant", joined([*texts, *calls], "\n"))


def _thinking_closed(turn: Turn) -> Turn:
    """A turn that opens thinking and calls a tool in its text, with the thinking closed before."""
    text = turn.text
    call, opened, closed = (text.find("<tool_call>"), text.rfind("<think>"), text.rfind("</think>"))
    if call < 0 or closed >= opened:
        return turn
    at = call if call > opened else len(text)
    middle = Piece("</think>", turn.first)
    return turn.saying((*cut(turn.content, 0, at), middle, *cut(turn.content, at, len(text))))


def _forced(prompt: Prompt) -> _Forced:
    raw = prompt.params.get("tool_choice")
    choice: Json = None if raw is None else jsontext.decode(raw)
    if prompt.endpoint in ("messages", "count_tokens"):
        choice = _as_chat(choice)
    if isinstance(choice, dict) and choice.get("type") == "function":
        function = choice.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        return _Forced(name=name)
    return _Forced(none=choice == "none", required=choice == "required")


def _as_chat(choice: Json) -> Json:
    if not isinstance(choice, Mapping):
        return None
    kind = choice.get("type", "auto")
    if kind == "tool":
        return {"type": "function", "function": {"name": choice.get("name", "")}}
    return {"any": "required", "none": "none"}.get(str(kind), "auto")
