"""A prompt's parts → turns, each part converted once and remembered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from cachediag.model import Endpoint, Part, Prompt, Run
from cachediag.protocol import jsontext
from cachediag.render.conversion.responses import responses_tool, responses_turns
from cachediag.render.memo import Latest, Memo, shared_items
from cachediag.render.rendered import Piece
from cachediag.render.turns import Tool, Turn, joined, shifted

__all__ = ["Join", "Read", "Reader", "fronted", "system_turn"]

_Convert = Callable[[Part], tuple[Turn, ...]]
_Define = Callable[[Part, int], Tool | None]
_Made = tuple[tuple[Turn, ...], int]

_FEW = 64
"""System texts that are remembered: they are long, and some clients write a new line into each."""

Join = Callable[[Turn, Turn, int], Turn | None]
"""Joins a turn to the one before it, whose blocks count from so many blocks before; None where the
two stay apart."""


@dataclass(slots=True)
class Read:
    """The turns of a request's messages. The lists are the caller's own."""

    turns: list[Turn]
    firsts: list[int]
    """For each turn the number of the block that its blocks count from."""
    systems: list[int]
    """Which of the turns are system messages."""
    moved: list[tuple[Turn, int]]
    """The system messages that were taken out, and the block that each counts from."""

    def copy(self, turns: int, systems: int, moved: int) -> "Read":
        """The first so many of each."""
        return Read(
            self.turns[:turns], self.firsts[:turns], self.systems[:systems], self.moved[:moved]
        )


@dataclass(slots=True)
class _Kept:
    """What was read of a conversation, and how far each message had brought it."""

    parts: tuple[Part, ...]
    read: Read
    marks: list[tuple[int, int, int, int] | None]
    """Before each message: turns, system messages, moved messages, blocks. None where the last of
    these turns was joined with a later one, so that it is gone."""


class Reader:
    """Converts the parts of prompts as one server does. What it has converted it remembers.

    Args:
        system: the parts of a top-level system field → its turn; None where it is left out.
        messages: a message of `/v1/messages` → its turns.
        message_tool: a tool of `/v1/messages` and its block's number → its definition.
        chat: a message of `/v1/chat/completions` → its turns.
        chat_tool: the same for a tool of `/v1/chat/completions`; None where it is left out.
        join: what is done to turns that follow one another; by default nothing.
    """

    def __init__(
        self,
        *,
        system: Callable[[Run], Turn | None],
        messages: _Convert,
        message_tool: _Define,
        chat: _Convert,
        chat_tool: _Define,
        join: Join | None = None,
    ) -> None:
        self._system = system
        self._join = join
        self._kept: Latest[tuple[Endpoint, Part, int], _Kept] = Latest()
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
        self._systems: Memo[tuple[Part, ...], Turn | None] = Memo(_FEW)

    def system(self, prompt: Prompt) -> tuple[Turn, int] | None:
        """The turn of the top-level system field, and the number of its first block."""
        number = 0
        for run in prompt.runs:
            if run.section == "system" and not run.is_messages:
                turn = self._systems.get(run.parts, partial(self._new_system, run))
                return None if turn is None else (turn, number)
            number += len(run.parts)
        return None

    def _new_system(self, run: Run, _: tuple[Part, ...]) -> Turn | None:
        return self._system(run)

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

    def messages(self, prompt: Prompt, *, takes_system: bool = False) -> Read:
        """The turns of all messages.

        A conversation that goes on from one that was read before is read from where it differs.

        Args:
            prompt: the request.
            takes_system: system messages are taken out, to be put elsewhere.
        """
        number, read = 0, Read([], [], [], [])
        for run in prompt.runs:
            if not run.is_messages:
                number += sum([len(part.blocks) for part in run.parts])
                continue
            more, number = self._run(prompt.endpoint, run, number, takes_system=takes_system)
            read = self._chained(read, more) if read.turns or read.moved else more
        return read

    def _run(
        self, endpoint: Endpoint, run: Run, number: int, *, takes_system: bool
    ) -> tuple[Read, int]:
        parts, key = run.parts, (endpoint, run.parts[0], number)
        read, marks, start = Read([], [], [], []), list[tuple[int, int, int, int] | None](), 0
        old = self._kept.get(key)
        if old is not None:
            start = shared_items(old.parts, parts)
            while start < len(old.parts) and (mark := old.marks[start]) is None:
                start -= 1
            mark = old.marks[start]
            assert mark is not None
            if start == len(parts) == len(old.parts):
                return old.read.copy(*mark[:3]), mark[3]
            read, marks, number = old.read.copy(*mark[:3]), old.marks[:start], mark[3]
        known, convert = self._turns[endpoint], self._convert[endpoint]
        for part in parts[start:]:
            made = known.get(part)
            if made is None:
                made = known[part] = (convert(part), len(part.blocks))
            turns = len(read.turns)
            marks.append((turns, len(read.systems), len(read.moved), number))
            if not self._add(read, made[0], number, takes=takes_system):
                _forget(marks, turns)
            number += made[1]
        marks.append((len(read.turns), len(read.systems), len(read.moved), number))
        self._kept.keep(key, _Kept(parts, read, marks))
        return read.copy(*marks[-1][:3]), number  # type: ignore[index]

    def _chained(self, a: Read, b: Read) -> Read:
        """What was read of two runs of messages, of which the first may be leading system ones."""
        turns, firsts, systems = b.turns, b.firsts, b.systems
        if self._join is not None and a.turns and turns and a.turns[-1].role == turns[0].role:
            joined_turn = self._join(a.turns[-1], turns[0], firsts[0] - a.firsts[-1])
            if joined_turn is not None:
                a.turns[-1] = joined_turn
                turns, firsts = turns[1:], firsts[1:]
                systems = [number - 1 for number in systems if number]
        return Read(
            a.turns + turns,
            a.firsts + firsts,
            a.systems + [len(a.turns) + number for number in systems],
            a.moved + b.moved,
        )

    def _add(self, read: Read, made: tuple[Turn, ...], number: int, *, takes: bool) -> bool:
        """Add a message's turns; false where the first was joined to the turn before."""
        if not made:
            return True
        is_system = made[0].role == "system"
        if takes and is_system:
            read.moved.extend([(turn, number) for turn in made])
            return True
        turns = read.turns
        if self._join is not None and turns and made[0].role == turns[-1].role:
            joined_turn = self._join(turns[-1], made[0], number - read.firsts[-1])
            if joined_turn is not None:
                turns[-1] = joined_turn
                turns.extend(made[1:])
                read.firsts.extend([number] * (len(made) - 1))
                return False
        if is_system:
            read.systems.append(len(turns))
        turns.extend(made)
        read.firsts.extend([number] * len(made))
        return True


def _forget(marks: list[tuple[int, int, int, int] | None], turns: int) -> None:
    """Forget the marks behind the turn that a later one was joined to."""
    for number in range(len(marks) - 1, -1, -1):
        mark = marks[number]
        if mark is not None and mark[0] < turns:
            return
        marks[number] = None


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


def fronted(moved: tuple[tuple[Turn, int], ...], by: str) -> Turn:
    """One system message of several, its blocks counted from the prompt's first.

    Args:
        moved: the messages, and the number of the block that each counts from.
        by: what stands between two of them; one that is empty is left out.
    """
    texts = [shifted(turn.content, first) for turn, first in moved if turn.text]
    return Turn.of("system", joined(texts, by))
