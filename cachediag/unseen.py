"""The characters of a text that do not show, or act on what shows them."""

import re
import unicodedata
from collections.abc import Callable

__all__ = ["escaped"]

# What Unicode has terminals show nothing for, though Python calls it printable: joiners, fillers,
# variation selectors. They can hide a difference, or words that only a model reads.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_MARKS = 4
"""So many combining marks on one character: no script needs more, and more run over other lines."""
_MAY_BE_A_FLOOD = re.compile(f"[\u0300-\U0010ffff]{{{_MARKS + 1},}}")


def escaped(text: str, escape: Callable[[str], str]) -> str:
    """The text with what does not show, or shows in another place than it stands, written out.

    That are control characters with line ends and tabs, bidirectional overrides, zero-width and
    private-use characters, unusual spaces, lone surrogates, and combining marks in such numbers
    that they would run over other lines.

    Args:
        text: any text.
        escape: gives what stands for one such character, in characters that show.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else escape(c) for c in text)
    if text.isascii():
        return text

    def thinned(found: re.Match[str]) -> str:
        shown, marks = [], 0
        for c in found[0]:
            marks = marks + 1 if unicodedata.category(c) in ("Mn", "Me") else 0
            shown.append(escape(c) if marks > _MARKS else c)
        return "".join(shown)

    return _MAY_BE_A_FLOOD.sub(thinned, _UNSEEN.sub(lambda found: escape(found[0]), text))
