"""Captured text made fit for a terminal."""

from cachediag.unseen import escaped

__all__ = ["printable"]

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def printable(text: str) -> str:
    r"""The text with every character that could act on a terminal written as an escape.

    Control characters, bidirectional overrides, zero-width and private-use characters, unusual
    spaces, lone surrogates and floods of combining marks come out as `\e`, `\n`, `\u202e` and so
    on, so the result is one line that shows what is there. What is printable already stays as it
    is.
    """
    return escaped(text, _escape)


def _escape(c: str) -> str:
    code = ord(c)
    if code < 0x100:
        return _SHORT.get(c) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
