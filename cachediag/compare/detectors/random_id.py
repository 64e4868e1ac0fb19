"""V03: a random identifier: a uuid, a hexadecimal digest, a nonce."""

import re

__all__ = ["CODE", "PATTERN", "looks_random"]

CODE = "V03"

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# Hexadecimal with a letter and a digit in it, or letters and digits that alternate at least
# twice: `6c09a`, `req_011CUx7`, not `python311`, not `deadline`.
_HEX = r"(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,}(?![0-9a-z])"
_MIXED = r"(?:[a-z]+\d+[a-z]+\d|\d+[a-z]+\d+[a-z])[0-9a-z]*"
PATTERN = rf"(?<![0-9a-z])(?:{_UUID}|{_HEX}|(?=[0-9a-z]{{5}}){_MIXED})(?![0-9a-z])"

_RANDOM = re.compile(PATTERN, re.IGNORECASE)
_PLAIN = re.compile(r"[0-9A-Za-z]{5,}")


def looks_random(before: str, after: str) -> bool:
    """Whether two versions of one word are two draws of one identifier.

    One draw in many has no digit, or no letter, so it is enough that one of the two looks it.
    """
    if not _PLAIN.fullmatch(before) or not _PLAIN.fullmatch(after):
        return False
    alike = abs(len(before) - len(after)) <= 1
    return alike and bool(_RANDOM.fullmatch(before) or _RANDOM.fullmatch(after))
