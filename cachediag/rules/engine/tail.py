"""The end of the newest message, where what was moved out of the prefix is put."""

from collections.abc import Iterator, Sequence

from cachediag.protocol.jsontext import Span
from cachediag.rules.engine.edits import Edit
from cachediag.rules.engine.guard import role_at
from cachediag.rules.engine.places import Place, items, member, remembered, root

__all__ = ["has_tail", "tail_edits"]

_TALK = {"messages": "messages", "chat": "messages", "responses": "input"}
_TEXT = {"messages": b"text", "chat": b"text", "responses": b"input_text"}


def has_tail(body: bytes, protocol: str) -> bool:
    """Whether there is a message that something can be put behind."""
    return _newest(body, protocol) is not None


def tail_edits(body: bytes, protocol: str, moved: Sequence[Span]) -> tuple[Edit, ...]:
    """The changes that put texts at the end of the newest message of the user.

    Where the newest message is a tool's result, and results are messages of their own, a user
    message is added behind it.

    Args:
        body: the request as it was sent.
        protocol: its kind.
        moved: the insides of the string literals.
    """
    newest = _newest(body, protocol) if moved else None
    if newest is None:
        return ()
    if newest.index is None:
        # All of the input is one string.
        start, end = newest.span
        head, tail = b'[{"role":"user","content":', b"}"
        return Edit(start, start, (head,)), Edit(end, end, (tail, *_message(moved), b"]"))
    content = member(body, newest, "content")
    if role_at(body, newest) != "user" or content is None:
        end = newest.span.end
        return (Edit(end, end, tuple(_message(moved))),)
    return _into(body, content, _TEXT[protocol], moved)


def _into(body: bytes, content: Place, kind: bytes, moved: Sequence[Span]) -> tuple[Edit, ...]:
    start, end = content.span
    opening = b'{"type":"' + kind + b'","text":'
    blocks = tuple(piece for at in moved for piece in (b",", opening, b'"', at, b'"', b"}"))
    if body[start : start + 1] == b"[":
        held = items(body, content)
        behind = held[-1].end if held else start + 1
        return (Edit(behind, behind, blocks if held else blocks[1:]),)
    return Edit(start, start, (b"[", opening)), Edit(end, end, (b"}", *blocks, b"]"))


def _message(moved: Sequence[Span]) -> Iterator[bytes | Span]:
    yield b',{"role":"user","content":"'
    for number, at in enumerate(moved):
        if number:
            yield b"\\n\\n"
        yield at
    yield b'"}'


def _newest(body: bytes, protocol: str) -> Place | None:
    """The message that takes the tail, or the message that one is put behind."""
    talk = member(body, root(body), _TALK[protocol])
    if talk is None:
        return None
    if body[talk.span.start : talk.span.start + 1] != b"[":
        return talk if protocol == "responses" else None
    return remembered(body, "newest", talk.span, lambda: _newest_of(body, talk))


def _newest_of(body: bytes, talk: Place) -> Place | None:
    spans = items(body, talk)
    for number in range(len(spans) - 1, -1, -1):
        message = Place(f"{talk.path}[{number}]", spans[number], talk, number)
        role = role_at(body, message)
        if role == "user" or (number == len(spans) - 1 and role != "assistant"):
            return message
    return None
