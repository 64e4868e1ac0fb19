"""JSON that is not nested so deeply that what walks through it, calling itself, would fail."""

import json
from typing import Final

from cachediag.model import Json
from cachediag.protocol import jsontext

__all__ = ["MOST_LEVELS", "decode", "loads"]

MOST_LEVELS: Final = 128
"""How deeply the values of a request may be nested: as deeply as many parsers of servers take it,
and far less than Python can call."""


def decode(raw: bytes) -> Json:
    """Decode one JSON value that is not nested deeper than `MOST_LEVELS`.

    Raises:
        InputError: it is, or it is not JSON.
    """
    value = jsontext.decode(raw)
    if raw.count(b"{") + raw.count(b"[") > MOST_LEVELS and _is_deep(value):
        raise jsontext.too_deep()
    return value


def loads(text: str) -> Json:
    """Decode JSON that stands in a text, such as a call's arguments.

    Raises:
        ValueError: it is not JSON, or nested deeper than `MOST_LEVELS`.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if text.count("{") + text.count("[") > MOST_LEVELS and _is_deep(value):
        raise ValueError("nested too deeply")
    return value


def _is_deep(value: Json) -> bool:
    """Whether a value is nested deeper than `MOST_LEVELS`; walks it level by level."""
    level, depth = [value], 0
    while level and depth <= MOST_LEVELS:
        holders = [each for each in level if isinstance(each, dict | list)]
        level = [
            inner
            for holder in holders
            for inner in (holder.values() if isinstance(holder, dict) else holder)
        ]
        depth += bool(holders)
    return depth > MOST_LEVELS
