"""Characters of a JSON string, and where their bytes stand in its literal.

Only the standard library is used: exported scripts carry this module with them.
"""

import re

__all__ = ["byte_offset"]

# A character that takes more than one byte: a surrogate pair of escapes, an escape, UTF-8.
_LONG = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
    rb"|[\xc0-\xff][\x80-\xbf]*",
    re.DOTALL,
)


def byte_offset(inside: bytes, characters: int) -> int:
    """The offset of a character in what stands between a literal's quotes.

    Args:
        inside: the literal without its quotes.
        characters: how many decoded characters stand before; the length for the end.
    """
    passed, behind = 0, 0
    for long in _LONG.finditer(inside):
        short = long.start() - behind
        if passed + short >= characters:
            break
        passed, behind = passed + short + 1, long.end()
    return min(behind + characters - passed, len(inside))
