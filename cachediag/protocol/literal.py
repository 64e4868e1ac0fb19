"""Characters of a JSON string, and where their bytes stand in its literal.

Only the standard library is used: exported scripts carry this module with them.
"""

import re

__all__ = ["byte_offset"]

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
    passed, position = 0, 0
    while (at := inside.find(b"\\", position)) >= 0:
        length = _length(inside[position:at])
        if passed + length >= characters:
            break
        escape = _ESCAPE.match(inside, at)
        passed, position = passed + length + 1, escape.end() if escape else at + 1
    run = inside[position:] if at < 0 else inside[position:at]
    return position + _start(run, characters - passed)


def _length(run: bytes) -> int:
    """The characters of a piece without escapes."""
    return len(run) if run.isascii() else len(run.decode("utf-8", "surrogatepass"))


def _start(run: bytes, characters: int) -> int:
    """The bytes that a number of characters of a piece take."""
    if run.isascii():
        return min(characters, len(run))
    text = run.decode("utf-8", "surrogatepass")[:characters]
    return len(text.encode("utf-8", "surrogatepass"))
