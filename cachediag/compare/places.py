"""From a leaf of a block to its JSON path and its byte in the raw body."""

from itertools import islice

from cachediag.compare.comparison import Keys
from cachediag.model import Block
from cachediag.protocol import jsontext
from cachediag.protocol.jsontext import Span
from cachediag.protocol.literal import byte_offset

__all__ = ["byte_of", "leaf_path"]


def leaf_path(body: bytes, block: Block, keys: Keys) -> str:
    """The JSON path of a leaf, as the client sent it.

    A string stands for a text block in a block's canonical form; its path is the string's own.
    """
    path, _ = _follow(body, block, keys)
    return path


def byte_of(body: bytes, block: Block, keys: Keys, characters: int = 0) -> int:
    """The offset in the raw body of a character of a leaf, or of the leaf where it is no text."""
    _, span = _follow(body, block, keys)
    if body[span.start : span.start + 1] != b'"':
        return span.start
    return span.start + 1 + byte_offset(body[span.start + 1 : span.end - 1], characters)


def _follow(body: bytes, block: Block, keys: Keys) -> tuple[str, Span]:
    path, span = block.path, Span(block.start, block.end)
    for key in keys:
        opening = body[span.start : span.start + 1]
        if opening == b"{":
            # Of a repeated key decoders take the last.
            found = [s for name, s in jsontext.members(body, span) if name == key]
        elif opening == b"[" and isinstance(key, int):
            found = list(islice(jsontext.items(body, span), key, key + 1))
        else:
            found = []
        if not found:
            break
        path, span = jsontext.step(path, key), found[-1]
    return path, span
