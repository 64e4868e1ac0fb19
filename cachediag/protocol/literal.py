"""Characters of a JSON string, and where their bytes stand in its literal.

Only the standard library is used: exported scripts carry this module with them.
"""

import re
from itertools import islice

__all__ = ["byte_offset"]

# One character of a JSON string: a surrogate pair of escapes, an escape, or UTF-8 bytes.
_CHARACTER = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
    rb"|[^\x80-\xbf][\x80-\xbf]*",
    re.DOTALL,
)


def byte_offset(inside: bytes, characters: int) -> int:
    """The offset of a character in what stands between a literal's quotes.

    Args:
        inside: the literal without its quotes.
        characters: how many decoded characters stand before; the length for the end.
    """
    if b"\\" not in inside and inside.isascii():
        return min(characters, len(inside))
    unit = None
    for unit in islice(_CHARACTER.finditer(inside), characters):  # noqa: B007
        pass
    return unit.end() if unit else 0
