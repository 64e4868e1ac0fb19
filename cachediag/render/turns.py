"""The chat form in which a server hands a request to a chat template.

Blocks are counted from the first block of the message that a turn was made of, so that a turn is
made once for each content and shared by all prompts that hold it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from cachediag.model import Json
from cachediag.render.rendered import Piece

__all__ = [
    "NO_PARAMETERS",
    "Call",
    "Talk",
    "Tool",
    "Turn",
    "cut",
    "dumped",
    "joined",
    "shifted",
    "text_of",
    "without",
]

NO_PARAMETERS: Json = {"type": "object", "properties": {}}
"""The parameters of a function that is sent without any."""


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool's definition as the template is given it."""

    value: Json
    block: int
    """Number of its block in the prompt."""
    json: str
    """The value as the templates' `tojson` writes it."""

    @classmethod
    def function(cls, function: dict[str, Json], block: int) -> "Tool":
        """The tool that a function is, as chat completions write it."""
        value: Json = {"type": "function", "function": function}
        return cls(value, block, dumped(value))


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A tool call of an assistant turn."""

    name: str
    arguments: Json
    """A string where the server hands them on undecoded."""
    block: int
    id: str = ""
    spelled: str = ""
    """The arguments as the JSON text that the server has of them before it decodes it."""


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """One message as the template is given it."""

    role: str
    content: tuple[Piece, ...]
    text: str
    """The content in one piece."""
    calls: tuple[Call, ...] = ()
    thinking: str | None = None
    """The message's `reasoning_content`; None where it has none."""
    thinking_block: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    """What else the template is given of the message: `tool_call_id`, `name`."""
    items: tuple[Json, ...] | None = None
    """The list that the template is given as content, which prints as `text`; None where it is
    given the text."""

    @classmethod
    def of(
        cls,
        role: str,
        content: Iterable[Piece],
        calls: Iterable[Call] = (),
        *,
        thinking: Piece | None = None,
        extra: Mapping[str, Json] | None = None,
        items: tuple[Json, ...] | None = None,
    ) -> "Turn":
        """A turn of some pieces."""
        pieces = tuple(content)
        return cls(
            role=role,
            content=pieces,
            text=text_of(pieces),
            calls=tuple(calls),
            thinking=thinking.text if thinking else None,
            thinking_block=thinking.block if thinking else None,
            extra=extra or {},
            items=items,
        )

    def saying(self, content: Iterable[Piece]) -> "Turn":
        """The same turn with another content."""
        pieces = tuple(content)
        return replace(self, content=pieces, text=text_of(pieces))

    @property
    def first(self) -> int | None:
        """The first block it was made of; None where it was made of none."""
        numbers = [piece.block for piece in self.content if piece.block is not None]
        numbers += [call.block for call in self.calls]
        numbers += [self.thinking_block] if self.thinking_block is not None else []
        return min(numbers, default=None)


@dataclass(frozen=True, slots=True)
class Talk:
    """All that a template is given for one request."""

    tools: tuple[Tool, ...]
    turns: Sequence[Turn]
    firsts: Sequence[int]
    """For each turn the number of the block that its blocks count from."""
    systems: Sequence[int]
    """Which of the turns are system messages."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """Further variables of the template, such as `enable_thinking`."""


def dumped(value: Json) -> str:
    """JSON as the templates' `tojson` writes it: spaces after `,` and `:`, no escapes."""
    return json.dumps(value, ensure_ascii=False)


def text_of(pieces: Iterable[Piece]) -> str:
    """The text of pieces that follow one another."""
    return "".join(piece.text for piece in pieces)


def joined(groups: Iterable[Sequence[Piece]], by: str) -> tuple[Piece, ...]:
    """Pieces of several texts, with a text between each two that belongs to the later one."""
    made: list[Piece] = []
    for number, group in enumerate(groups):
        if number:
            made.append(Piece(by, group[0].block if group else None))
        made.extend(group)
    return tuple(made)


def shifted(pieces: Iterable[Piece], by: int) -> tuple[Piece, ...]:
    """Pieces whose blocks are counted from another first block."""
    return tuple(
        piece if piece.block is None else Piece(piece.text, piece.block + by) for piece in pieces
    )


def cut(pieces: Iterable[Piece], start: int, end: int) -> tuple[Piece, ...]:
    """The pieces of `text[start:end]`, where `text` is the pieces' own."""
    made, at = [], 0
    for text, block in pieces:
        low, high = max(start - at, 0), min(end - at, len(text))
        if low < high:
            made.append(Piece(text[low:high], block))
        at += len(text)
    return tuple(made)


def without(pieces: tuple[Piece, ...], pattern: re.Pattern[str]) -> tuple[Piece, ...]:
    r"""The pieces without what a pattern finds in their text.

    Args:
        pieces: the text.
        pattern: finds a line, or the rest of one, with the line feed that ends it: what it finds
            ends with `[^\n]*\n` or at the end of the text, and looks back for `^` at most.
    """
    spans = _spans(pieces, pattern)
    if spans is None:
        spans = [found.span() for found in pattern.finditer(text_of(pieces))]
    if not spans:
        return pieces
    made, at = list[Piece](), 0
    for start, end in spans:
        made.extend(cut(pieces, at, start))
        at = end
    return (*made, *cut(pieces, at, sum(len(piece.text) for piece in pieces)))


def _spans(pieces: Sequence[Piece], pattern: re.Pattern[str]) -> list[tuple[int, int]] | None:
    """What is found piece by piece, so that a long text is searched once; None where it is not."""
    spans, at, before = list[tuple[int, int]](), 0, "\n"
    texts = [piece.text for piece in pieces if piece.text]
    for text, after in pairwise([*texts, "\n"]):
        for start, end in _found(pattern, text):
            if start == 0 and before != "\n" and pattern.flags & re.MULTILINE:
                continue
            reaches = end == len(text) and not text.endswith("\n")
            if reaches and not after.startswith("\n"):
                return None
            more = reaches and at + end < sum(map(len, texts))
            spans.append((at + start, at + end + more))
        at, before = at + len(text), text[-1]
    return spans


@lru_cache(maxsize=128)
def _found(pattern: re.Pattern[str], text: str) -> tuple[tuple[int, int], ...]:
    return tuple(found.span() for found in pattern.finditer(text))
