"""A pattern as a regular expression that means the same to Python and to JavaScript."""

from collections.abc import Iterator
from itertools import takewhile

from cachediag.rules.pattern.charset import ANY, CharSet
from cachediag.rules.pattern.nodes import SPECIAL, Char, Group, Items

__all__ = ["head_of", "source_of"]


def source_of(sequence: Items) -> str:
    """The regular expression of a sequence."""
    return "".join(
        _char_source(item) if isinstance(item, Char) else _group_source(item) for item in sequence
    )


def _char_source(item: Char) -> str:
    source = r"[\s\S]" if item.chars == ANY else _one(item.chars) or item.chars.source()
    if item.low == item.high == 1:
        return source
    count = f"{{{item.low}}}" if item.low == item.high else f"{{{item.low},{item.high}}}"
    return source + count + ("?" if item.lazy else "")


def _one(chars: CharSet) -> str | None:
    """The source of a set of one ordinary character; None where a class must be written."""
    low, high = chars.ranges[0]
    if len(chars.ranges) > 1 or low != high or not chr(low).isprintable():
        return None
    return f"\\{chr(low)}" if chr(low) in SPECIAL else chr(low)


def _group_source(group: Group) -> str:
    inside = "|".join(source_of(option) for option in group.options)
    return f"{'(' if group.captured else '(?:'}{inside}){'?' if group.optional else ''}"


def head_of(sequence: Items) -> str:
    """The literal at the head of a sequence."""
    return "".join(takewhile(bool, _ones(sequence)))


def _ones(sequence: Items) -> Iterator[str]:
    """The characters of a sequence as long as each is one and the same; then an empty text."""
    for item in sequence:
        if isinstance(item, Group):
            certain = len(item.options) == 1 and not item.optional
            yield from _ones(item.options[0]) if certain else ("",)
            continue
        low, high = item.chars.ranges[0]
        certain = len(item.chars.ranges) == 1 and low == high and item.low == item.high == 1
        yield chr(low) if certain else ""
