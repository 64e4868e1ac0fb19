"""The beginnings of recorded requests, as routers that look at nothing else see them."""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from cachediag.model import Json, Part, Prompt
from cachediag.protocol import jsontext
from cachediag.simulate.model import Unit

__all__ = ["LONGEST", "AllHeads", "RecordedHeads", "message_texts"]

LONGEST: Final = 65_536
"""Bytes and characters that are remembered; no router that is known looks at more."""

_TEXTS = ("text", "tool_result")
_REMEMBERED = 4096


class RecordedHeads:
    """What a request begins with; equal ones should be one object, which remembers its keys.

    Args:
        body: the first bytes of the body.
        text: the first characters of the text of its messages.
    """

    __slots__ = ("_body", "_keys", "_text")

    def __init__(self, body: bytes, text: str) -> None:
        self._body = body
        self._text = text
        self._keys: dict[tuple[Unit, int], int] = {}

    def key(self, unit: Unit, length: int) -> int:
        """A number that two requests have in common when their first units are equal.

        It is the same in every process. Two heads that differ have one number by a chance of
        2**-63.

        Args:
            unit: what is counted.
            length: how many; more than `LONGEST` are taken for that many.
        """
        found = self._keys.get((unit, length))
        if found is None:
            head = self._body[:length] if unit == "bytes" else _encoded(self._text[:length])
            digest = blake2b(head, digest_size=8).digest()
            found = self._keys[unit, length] = int.from_bytes(digest, "little") >> 1
        return found


class AllHeads:
    """Makes the heads of requests, each content once: long talks differ behind their heads."""

    def __init__(self) -> None:
        self._made: dict[tuple[bytes, str], RecordedHeads] = {}

    def of(self, prompt: Prompt) -> RecordedHeads:
        """The heads of a request.

        Args:
            prompt: as its body was parsed.
        """
        content = prompt.body[:LONGEST], _opening(prompt)
        return self._made.setdefault(content, RecordedHeads(*content))


def message_texts(prompt: Prompt) -> Iterator[tuple[int, str]]:
    """The text of a request's messages, in the order in which they are sent.

    It is what the text blocks say, and what the text in results of tools says; arguments of tool
    calls, thinking, images and documents are none, nor are tools and a system prompt that stands
    outside the messages.

    Args:
        prompt: as its body was parsed.

    Yields:
        The number of a block in `Prompt.blocks`, and its text, which is not empty.
    """
    number = 0
    for run in prompt.runs:
        for part in run.parts:
            if run.is_messages:
                for offset, text in _part_texts(part):
                    yield number + offset, text
            number += len(part.blocks)


def _opening(prompt: Prompt) -> str:
    found: list[str] = []
    left = LONGEST
    for _, text in message_texts(prompt):
        found.append(text[:left])
        left -= len(text)
        if left <= 0:
            break
    return "".join(found)


@lru_cache(maxsize=_REMEMBERED)
def _part_texts(part: Part) -> tuple[tuple[int, str], ...]:
    texts = (
        (number, "".join(_texts(jsontext.decode(block.canonical))))
        for number, block in enumerate(part.blocks)
        if block.kind in _TEXTS
    )
    return tuple((number, text) for number, text in texts if text)


def _texts(value: Json) -> Iterator[str]:
    """The texts of a text block, of a tool's result, and of one in the responses protocol."""
    if not isinstance(value, dict):
        return
    inside = next((value[name] for name in ("text", "content", "output") if name in value), None)
    for each in inside if isinstance(inside, list) else [{"text": inside}]:
        text = each.get("text") if isinstance(each, dict) else None
        if isinstance(text, str):
            yield text


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
