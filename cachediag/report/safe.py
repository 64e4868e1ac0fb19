"""Captured text made fit for a terminal."""

__all__ = ["printable"]

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def printable(text: str) -> str:
    r"""The text with every character that could act on a terminal written as an escape.

    Control characters, bidirectional overrides, zero-width and private-use characters, unusual
    spaces and lone surrogates come out as `\e`, `\n`, `\u202e` and so on, so the result is one
    line that shows what is there.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _SHORT.get(c) or _escape(ord(c)) for c in text)


def _escape(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
