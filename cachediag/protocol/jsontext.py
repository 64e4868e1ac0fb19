"""JSON as bytes: decoding, compact encoding, and where in a body each value stands.

msgspec does the work at about 2 GB/s. It refuses what Python's own `json` takes and what real
clients do send (lone surrogates, `NaN`), so the standard library stands behind it.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate, islice
from typing import NamedTuple

import msgspec

from cachediag.errors import InputError
from cachediag.model import Json

__all__ = [
    "Span",
    "check",
    "decode",
    "each_item",
    "encode",
    "find",
    "item",
    "items",
    "members",
    "members_from",
    "path_at",
    "spelled",
    "step",
    "too_deep",
    "whole",
]

_WHITE = re.compile(rb"[ \t\r\n]*")
_KEY = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")
_LOOK = 16
_FIRST = 8
_OPENINGS = (b"{", b'"', b"[")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_any = msgspec.json.Decoder(msgspec.Raw)
_array = msgspec.json.Decoder(list[msgspec.Raw])
_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_standard = json.JSONDecoder()


class Span(NamedTuple):
    """A value's place in a body: `body[start:end]` is its JSON."""

    start: int
    end: int


def decode(raw: bytes) -> Json:
    """Decode one JSON value.

    Raises:
        InputError: it is not JSON; the message names line, column and byte.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _decode_standard(raw)


def check(raw: bytes) -> None:
    """See that bytes are one JSON value, in less time than decoding them takes.

    Bytes inside strings that are no UTF-8 pass.

    Raises:
        InputError: they are not; the message names line, column and byte.
    """
    try:
        _any.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        _decode_standard(raw)


def _decode_standard(raw: bytes) -> Json:
    try:
        return json.loads(raw.decode("utf-8", "surrogatepass"))
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        if _is_cut(raw) or error.pos >= len(error.doc.rstrip()):
            text = error.doc.rstrip()
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
            what = f"JSON ends too early (line {line}, column {column})"
        raise InputError(what, remedy="Give a complete JSON body.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 text (byte {error.start})", remedy="Give a JSON body in UTF-8."
        ) from None
    except RecursionError:
        raise too_deep() from None
    except ValueError as error:
        # Python decodes integers of up to 4,300 digits.
        raise InputError(
            f"not JSON that can be read: {str(error).partition(';')[0]}",
            remedy="Give a real request body.",
        ) from None


def too_deep() -> InputError:
    """The error for JSON that is nested deeper than can be read."""
    return InputError("JSON is nested too deeply", remedy="Give a real request body.")


def _is_cut(raw: bytes) -> bool:
    # The standard library calls a string that the end cuts unterminated, and says where it began.
    try:
        msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except RecursionError:
        return False
    return False


def encode(value: Json) -> bytes:
    """Encode a value as compact UTF-8 JSON, keys in the order they have.

    A lone surrogate is kept as the three bytes that `surrogatepass` gives it, which `decode`
    takes back. A number beyond all bounds (`1e400`, `NaN`) is written as null, for JSON has none.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")


def spelled(text: str) -> Json:
    """Decode JSON with each number as it is spelled, so that `1.0` and `1.00` differ."""
    return json.loads(text, parse_float=_spelling, parse_int=_spelling)


def _spelling(number: str) -> str:
    return f"number {number}"


def whole(body: bytes) -> Span:
    """The span of the body's value, white space around it left out."""
    return Span(_skip_white(body, 0), len(body.rstrip(b" \t\r\n")))


def items(body: bytes, span: Span) -> Iterator[Span]:
    """The spans of an array's items, in order.

    Raises:
        InputError: the value is no array, or not JSON.
    """
    return items_after(body, span.start, span)


def items_after(body: bytes, position: int, span: Span) -> Iterator[Span]:
    """The spans of an array's items behind one of them.

    Args:
        body: the whole body.
        position: offset of the array's first byte, or of the byte behind one of its items.
        span: the array.

    Raises:
        InputError: the value is no array, or not JSON.
    """
    at_start = position == span.start
    position = _skip_white(body, position + 1) if at_start else _skip(_COMMA, body, position)
    lengths = _lengths(b"[" + body[position : span.end])
    if lengths is None:
        yield from _items_standard(body, position, span)
        return
    if sum(lengths) + len(lengths) == span.end - position:
        # One byte behind each item, so a comma or the bracket: nothing need be looked at.
        starts = list(accumulate([length + 1 for length in lengths], initial=position))
        yield from map(Span, starts, [start - 1 for start in starts[1:]])
        return
    for length in lengths:
        end = position + length
        yield Span(position, end)
        # Compact JSON needs no search for what stands between.
        is_compact = body[end : end + 1] == b"," and body[end + 1 : end + 2] in _OPENINGS
        position = end + 1 if is_compact else _skip(_COMMA, body, end)


def _lengths(array: bytes) -> list[int] | None:
    try:
        return [len(memoryview(raw)) for raw in _array.decode(array)]
    except (msgspec.DecodeError, RecursionError):
        return None


def _items_standard(body: bytes, position: int, span: Span) -> Iterator[Span]:
    if not isinstance(_decode_standard(body[span.start : span.end]), list):
        raise InputError(f"expected an array at byte {span.start}", remedy="Give a request body.")
    return each_item(body, position, span)


def each_item(body: bytes, position: int, span: Span) -> Iterator[Span]:
    """The spans of an array's items from one on, each decoded, by `json`, when it is asked for."""
    # latin-1 maps byte to character one to one, so character offsets are byte offsets.
    text = body[: span.end].decode("latin-1")
    position = _skip_white(body, position)
    while body[position : position + 1] != b"]":
        end = _standard.raw_decode(text, position)[1]
        yield Span(position, end)
        position = _skip(_COMMA, body, end)


def item(body: bytes, span: Span, number: int) -> Span | None:
    """The span of one of an array's items; None where it has fewer.

    One of the first is found without a look at those behind it.

    Raises:
        InputError: the value is no array, or not JSON.
    """
    if number < _FIRST and body[span.start : span.start + 1] == b"[":
        first = each_item(body, span.start + 1, span)
        with suppress(ValueError, RecursionError):
            return next(islice(first, number, None), None)
    return next(islice(items(body, span), number, None), None)


def members(body: bytes, span: Span) -> Iterator[tuple[str, Span]]:
    """The keys of an object with the spans of their values, in order, repeated keys too.

    Raises:
        InputError: the value is no object, or not JSON.
    """
    try:
        raws = _object.decode(memoryview(body)[span.start : span.end])
    except (msgspec.DecodeError, RecursionError):
        if not isinstance(_decode_standard(body[span.start : span.end]), dict):
            raise InputError(
                f"expected an object at byte {span.start}", remedy="Give a request body."
            ) from None
        return _members_standard(body, span)
    return iter(
        _members_compact(body, span, raws)
        or _members_by_length(body, span, raws)
        or _members_standard(body, span)
    )


def members_from(body: bytes, position: int) -> tuple[int, list[tuple[str, Span]]] | None:
    """What follows an item of an array that is a member of the body's object.

    Args:
        body: a body that is JSON up to there.
        position: offset of the byte behind the item.

    Returns:
        The offset of the array's end, and the members behind it; None where they cannot be told
        without what stands before.
    """
    # Whatever came before, the rest is as if it followed this.
    before = b'{"":[0'
    rest, shift = before + body[position:], position - len(before)
    try:
        raws = _object.decode(rest)
    except (msgspec.DecodeError, RecursionError):
        return None
    found = _members_by_length(rest, whole(rest), raws)
    if found is None:
        return None
    (_, array), *behind = found
    moved = [(name, Span(span.start + shift, span.end + shift)) for name, span in behind]
    return array.end + shift, moved


def _members_compact(
    body: bytes, span: Span, raws: dict[str, msgspec.Raw]
) -> list[tuple[str, Span]] | None:
    """The members of an object without white space between them, which needs no search.

    None where it is written otherwise, or where a key is repeated.
    """
    found: list[tuple[str, Span]] = []
    end = span.start
    for name, value in raws.items():
        key = b'"' + name.encode() + b'":'
        raw = memoryview(value)
        start = end + 1 + len(key)
        if not body.startswith(key, end + 1) or not _is_there(body, start, raw):
            return None
        end = start + len(raw)
        found.append((name, Span(start, end)))
        if body[end : end + 1] != b",":
            break
    return found if len(found) == len(raws) and end == span.end - 1 else None


def _is_there(body: bytes, start: int, raw: memoryview) -> bool:
    """Whether a value stands there: a look at both ends tells it from a repeated key's other."""
    end = start + len(raw)
    return (
        body[start : min(end, start + _LOOK)] == raw[:_LOOK]
        and body[max(start, end - _LOOK) : end] == raw[-_LOOK:]
    )


def _members_by_length(
    body: bytes, span: Span, raws: dict[str, msgspec.Raw]
) -> list[tuple[str, Span]] | None:
    """The members, their values' lengths as decoded; None where a key is repeated.

    Of a repeated key only the last value is known, so that the walk ends elsewhere.
    """
    found: list[tuple[str, Span]] = []
    position = _skip_white(body, span.start + 1)
    while (key := _KEY.match(body, position)) is not None:
        start = _skip(_COLON, body, key.end())
        name = _name(key.group())
        raw = memoryview(raws.get(name, b""))
        end = start + len(raw)
        if not raw or not _is_there(body, start, raw) or len(found) == len(raws):
            return None
        found.append((name, Span(start, end)))
        position = _skip(_COMMA, body, end)
    return found if len(found) == len(raws) and position == span.end - 1 else None


def _name(key: bytes) -> str:
    """A key; an empty text where it is none, which a walk that went wrong may come upon."""
    try:
        return str(decode(key))
    except InputError:
        return ""


def _members_standard(body: bytes, span: Span) -> Iterator[tuple[str, Span]]:
    text = body.decode("latin-1")
    position = _skip_white(body, span.start + 1)
    while (key := _KEY.match(body, position)) is not None:
        start = _skip(_COLON, body, key.end())
        end = _standard.raw_decode(text, start)[1]
        yield decode(key.group()), Span(start, end)
        position = _skip(_COMMA, body, end)


def _skip_white(body: bytes, position: int) -> int:
    return _skip(_WHITE, body, position)


def _skip(pattern: re.Pattern[bytes], body: bytes, position: int) -> int:
    match = pattern.match(body, position)
    return match.end() if match else position


def step(path: str, name: str | int) -> str:
    """The JSON path one step on: `messages` → `messages[3]`, `[3]` → `[3].content`."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    if _PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}" if path else name
    return f"{path}[{json.dumps(name)}]"


def path_at(body: bytes, offset: int) -> str:
    """The JSON path of the innermost value, or of the member whose key, holds a byte.

    Args:
        body: a whole JSON body.
        offset: a byte offset in it.

    Returns:
        The path; an empty string where the byte belongs to the outermost value itself.
    """
    path, span = "", whole(body)
    while (found := _child_at(body, span, offset)) is not None:
        name, span = found
        path = step(path, name)
    return path


def _child_at(body: bytes, span: Span, offset: int) -> tuple[str | int, Span] | None:
    opening = body[span.start : span.start + 1]
    if not span.start < offset < span.end or opening not in (b"{", b"["):
        return None
    children: Iterator[tuple[str | int, Span]]
    children = iter(members(body, span)) if opening == b"{" else enumerate(items(body, span))
    for name, child in children:
        if offset < child.end:
            # Before the value: its key or the comma before it, so still this member.
            return name, child
    return None


def find(body: bytes, name: str) -> int | None:
    """The offset of a top-level field's value; None where the body has no such field."""
    places = [span.start for key, span in members(body, whole(body)) if key == name]
    return places[-1] if places else None
