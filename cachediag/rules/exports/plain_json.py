"""What the engine needs of `cachediag.protocol.jsontext`, by the standard library alone.

Exported scripts carry this module in its place. It is slower and its errors say less; what it
finds is the same.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

__all__ = ["Span", "check", "decode", "encode", "item", "items", "members", "step", "whole"]

_WHITE = re.compile(r"[ \t\r\n]*")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_scanner = json.JSONDecoder()


class Span(NamedTuple):
    """A value's place in a body: `body[start:end]` is its JSON."""

    start: int
    end: int


def decode(raw: bytes) -> Any:
    """Decode one JSON value.

    Raises:
        ValueError: it is not JSON.
    """
    return json.loads(bytes(raw).decode("utf-8", "surrogatepass"))


def check(raw: bytes) -> None:
    """See that bytes are one JSON value.

    Raises:
        ValueError: they are not.
    """
    decode(raw)


def encode(value: Any) -> bytes:
    """Encode a value as compact UTF-8 JSON, keys in the order they have."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def whole(body: bytes) -> Span:
    """The span of the body's value, white space around it left out."""
    white = b" \t\r\n"
    return Span(len(body) - len(body.lstrip(white)), len(body.rstrip(white)))


def items(body: bytes, span: Span) -> Iterator[Span]:
    """The spans of an array's items, in order.

    Raises:
        ValueError: the value is no array, or not JSON.
    """
    text = _characters(body, span, "[")
    position = _skip_white(text, 1)
    while text[position : position + 1] != "]":
        end = _value_end(text, position)
        yield Span(span.start + position, span.start + end)
        position = _next(text, end, "]")


def item(body: bytes, span: Span, number: int) -> Span | None:
    """The span of one of an array's items; None where it has fewer.

    Raises:
        ValueError: the value is no array, or not JSON up to there.
    """
    return next(islice(items(body, span), number, None), None)


def members(body: bytes, span: Span) -> Iterator[tuple[str, Span]]:
    """The keys of an object with the spans of their values, in order, repeated keys too.

    Raises:
        ValueError: the value is no object, or not JSON.
    """
    text = _characters(body, span, "{")
    position = _skip_white(text, 1)
    while text[position : position + 1] != "}":
        key = _value_end(text, position)
        name = decode(text[position:key].encode("latin-1"))
        start = _skip_white(text, _colon(text, position, key))
        end = _value_end(text, start)
        yield name, Span(span.start + start, span.start + end)
        position = _next(text, end, "}")


def step(path: str, name: str | int) -> str:
    """The JSON path one step on: `messages` → `messages[3]`, `[3]` → `[3].content`."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    if _PLAIN_NAME.fullmatch(name):
        return f"{path}.{name}" if path else name
    return f"{path}[{json.dumps(name)}]"


def _characters(body: bytes, span: Span, opening: str) -> str:
    """The value with one character a byte, so that offsets in it are offsets of bytes."""
    text = body[span.start : span.end].decode("latin-1")
    if text[:1] != opening:
        raise ValueError(f"expected {opening} at byte {span.start}")
    return text


def _value_end(text: str, position: int) -> int:
    return _scanner.raw_decode(text, position)[1]


def _colon(text: str, key: int, end: int) -> int:
    """Where the colon ends that stands behind a key."""
    position = _skip_white(text, end)
    if text[key] != '"' or text[position : position + 1] != ":":
        raise ValueError("expected a key and a colon")
    return position + 1


def _next(text: str, end: int, closing: str) -> int:
    """Where the next item begins behind one that ends at `end`; the closing bracket if none."""
    position = _skip_white(text, end)
    if text[position : position + 1] == closing:
        return position
    after = _skip_white(text, position + 1)
    if text[position : position + 1] != "," or text[after : after + 1] == closing:
        raise ValueError("expected an item behind a comma, or the closing bracket")
    return after


def _skip_white(text: str, position: int) -> int:
    match = _WHITE.match(text, position)
    return match.end() if match else position
