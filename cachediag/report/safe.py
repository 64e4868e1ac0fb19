"""Captured text made fit for a terminal."""

import re

__all__ = ["printable"]

# Controls move the cursor or ring; format characters reorder or hide what follows; surrogates
# cannot be written; separators break lines.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff0-\uffff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def printable(text: str) -> str:
    r"""The text with every character that could act on a terminal written as an escape.

    Control characters, bidirectional overrides, zero-width and private-use characters and lone
    surrogates come out as `\e`, `\n`, `\u202e` and so on, so the result is one line that shows
    what is there.
    """
    return _UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
