r"""E02: the same characters in another normal form, or spelled with `\u` escapes in the text."""

import re
import unicodedata

__all__ = ["CODE", "explains"]

CODE = "E02"
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def explains(before: str, after: str) -> bool:
    """Whether two texts spell the same characters."""
    return before != after and _spelled_out(before) == _spelled_out(after)


def _spelled_out(text: str) -> str:
    if text.isascii() and "\\u" not in text:
        return text
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    # Escapes name UTF-16 units: two of them may be one character.
    joined = plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return unicodedata.normalize("NFC", joined)
