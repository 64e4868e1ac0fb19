"""Characters of a JSON string, and where their bytes stand in its literal.

Only the standard library is used: exported scripts carry this module with them.
"""

import re
from collections.abc import Iterable, Iterator

__all__ = ["byte_offset", "byte_offsets"]

# A surrogate pair of escapes, which is one character, or an escape.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.",
    re.DOTALL,
)


def byte_offset(inside: bytes, characters: int) -> int:
    """The offset of a character in what stands between a literal's quotes.

    Args:
        inside: the literal without its quotes.
        characters: how many decoded characters stand before; the length for the end.
    """
    return next(byte_offsets(inside, (characters,)))


def byte_offsets(inside: bytes, characters: Iterable[int]) -> Iterator[int]:
    """The offsets of several characters, found in one walk.

    Args:
        inside: the literal without its quotes.
        characters: for each how many decoded characters stand before it, none less than the last.
    """
    runs = _runs(inside)
    passed, offset, text = next(runs)
    behind = 0
    for wanted in characters:
        while passed + len(text) < wanted and (following := next(runs, None)) is not None:
            passed, offset, text = following
            behind = 0
        offset += len(text[behind : wanted - passed].encode("utf-8", "surrogatepass"))
        behind = max(behind, min(wanted - passed, len(text)))
        yield offset


def _runs(inside: bytes) -> Iterator[tuple[int, int, str]]:
    """The pieces between escapes: the characters before each, its offset, and its text."""
    passed, position = 0, 0
    while (at := inside.find(b"\\", position)) >= 0:
        text = inside[position:at].decode("utf-8", "surrogatepass")
        yield passed, position, text
        escape = _ESCAPE.match(inside, at)
        passed, position = passed + len(text) + 1, escape.end() if escape else at + 1
    yield passed, position, inside[position:].decode("utf-8", "surrogatepass")
