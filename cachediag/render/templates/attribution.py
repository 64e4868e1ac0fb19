"""Which block each stretch of a rendered template belongs to, for templates known only as text.

The request is rendered once more with anchors in its texts: single characters of a private plane,
inside words, where no template looks. If the rendering without its anchors is the prompt itself,
each anchor tells where its text stands, and the text is followed from there to both sides as far as
it was printed as it is. Otherwise the texts are looked for in the prompt, one after the other.
Text between two blocks counts to the later one, which it introduces; what follows the last is the
template's own.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple, Protocol

from cachediag.heads import common_head
from cachediag.model import Json
from cachediag.render.rendered import Piece
from cachediag.render.turns import Call, Talk, Tool, Turn, dumped

__all__ = ["Told", "attributed"]

_FIRST, _LAST = 0xF0000, 0xFFFFD
_ANCHOR = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")
# Templates look for tags and for marks in brackets; an anchor in one would change what they do.
_TAG = re.compile(r"<[^<>\s]{0,40}>|\[[^\[\]\s]{0,40}\]")
_WORD = re.compile(r"(?<=\w)(?=\w)")
_SHORT = 4


class Told(NamedTuple):
    """The tools and turns of a request, with anchors in their texts."""

    tools: tuple[Tool, ...]
    turns: tuple[Turn, ...]


class _Region(NamedTuple):
    start: int
    end: int
    block: int


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that the template is given, and where its anchors were put."""

    text: str
    block: int
    places: dict[str, int]
    """Each anchor, and its offset in the text."""
    wholes: tuple[str, ...] = ()
    """Longer texts of the same block that it may have been printed as a part of."""


def attributed(talk: Talk, text: str, again: Callable[[Told], str]) -> tuple[Piece, ...]:
    """Cut a rendered prompt into pieces that belong to one block each.

    Args:
        talk: what was rendered.
        text: the prompt.
        again: renders the same request with other texts.

    Returns:
        Pieces that make up `text`, blocks numbered as in the prompt.
    """
    texts = list[_Text]()
    told = _anchored(talk, texts)
    found: list[_Region] | None = None
    if not _ANCHOR.search(text) and sum(len(t.places) for t in texts) <= _LAST - _FIRST:
        marked = again(told)
        if _ANCHOR.sub("", marked) == text:
            found = list(_followed(text, marked, texts))
    return tuple(_pieces(text, found if found is not None else list(_searched(text, texts))))


def _anchored(talk: Talk, texts: list[_Text]) -> Told:
    codes = count(_FIRST)

    def put(text: str, block: int | None, wholes: tuple[str, ...] = ()) -> str:
        if block is None:
            return text
        anchors = {chr(next(codes)): place for place in _places(text)}
        texts.append(_Text(text, block, anchors, wholes))
        made, at = "", 0
        for anchor, place in anchors.items():
            made += text[at:place] + anchor
            at = place
        return made + text[at:]

    tools = tuple(replace(tool, value=_tool(tool, put)) for tool in talk.tools)
    turns = tuple(
        _turn(turn, first, put) for turn, first in zip(talk.turns, talk.firsts, strict=True)
    )
    return Told(tools, turns)


class _Put(Protocol):
    """Puts anchors into a text of a block, and keeps account of them."""

    def __call__(self, text: str, block: int | None, wholes: tuple[str, ...] = ()) -> str: ...


def _places(text: str) -> list[int]:
    """Where a text can take anchors: inside its first and its last word, outside tags."""
    tags = [found.span() for found in _TAG.finditer(text)]

    def free(place: int) -> bool:
        return not any(start < place < end for start, end in tags)

    first = next((p.start() for p in _WORD.finditer(text) if free(p.start())), None)
    if first is None:
        return []
    last = next(
        (p for p in range(len(text) - 1, first, -1) if _WORD.match(text, p) and free(p)), first
    )
    return [first] if last == first else [first, last]


def _tool(tool: Tool, put: _Put) -> Json:
    """A tool's definition with anchors in its name and description, which templates only print."""
    value = tool.value
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict):
        return value
    wholes = (
        tool.json,
        dumped(function),
        *(json.dumps(each, ensure_ascii=False, indent=4) for each in (value, function)),
    )
    told = {
        key: put(item, tool.block, wholes) if isinstance(item, str) else item
        for key, item in function.items()
    }
    return {**value, "function": told}


def _turn(turn: Turn, first: int, put: _Put) -> Turn:
    content = "".join(
        put(text, None if block is None else block + first) for text, block in turn.content
    )
    thinking = turn.thinking
    if thinking is not None and turn.thinking_block is not None:
        thinking = put(thinking, turn.thinking_block + first)
    calls = tuple(_call(call, call.block + first, put) for call in turn.calls)
    return replace(turn, text=content, calls=calls, thinking=thinking)


def _call(call: Call, block: int, put: _Put) -> Call:
    wholes = (dumped(call.arguments),)

    def told(value: Json) -> Json:
        if isinstance(value, str):
            return put(value, block, wholes)
        if isinstance(value, list):
            return [told(item) for item in value]
        if isinstance(value, dict):
            return {key: told(item) for key, item in value.items()}
        return value

    return replace(call, name=put(call.name, block), arguments=told(call.arguments))


def _followed(text: str, marked: str, texts: list[_Text]) -> Iterator[_Region]:
    """A region for each text that was printed, grown from its anchors to both sides."""
    owners = {anchor: given for given in texts for anchor in given.places}
    at, seen = 0, 0
    for found in _ANCHOR.finditer(marked):
        # An anchor's place in the prompt is its place here less the anchors before it.
        place, seen = found.start() - seen, seen + 1
        given = owners[found.group()]
        offset = given.places[found.group()]
        start, end = _whole(text, place, given) or _grown(text, place, given.text, offset)
        if end > at:
            yield _Region(max(start, at), end, given.block)
            at = end


def _whole(text: str, place: int, given: _Text) -> tuple[int, int] | None:
    """The stretch around a place that is one of the longer texts; None where it is none."""
    for whole in given.wholes:
        start = text.find(whole, max(place - len(whole), 0), place + len(whole))
        if start >= 0:
            return start, start + len(whole)
    return None


def _grown(text: str, place: int, given: str, offset: int) -> tuple[int, int]:
    before = common_head(text[max(place - offset, 0) : place][::-1], given[:offset][::-1])
    after = common_head(text[place : place + len(given) - offset], given[offset:])
    return place - before, place + after


def _searched(text: str, texts: list[_Text]) -> Iterator[_Region]:
    """A region for each text that is found behind the one before it."""
    at = 0
    for given in texts:
        wanted = given.text.strip()
        place = text.find(wanted, at) if len(wanted) >= _SHORT else -1
        if place >= 0:
            at = place + len(wanted)
            yield _Region(place, at, given.block)


def _pieces(text: str, regions: list[_Region]) -> Iterator[Piece]:
    at = 0
    for region in regions:
        if region.start > at:
            yield Piece(text[at : region.start], region.block)
        yield Piece(text[region.start : region.end], region.block)
        at = region.end
    if at < len(text):
        yield Piece(text[at:], None)
