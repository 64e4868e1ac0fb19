"""An estimate for hosted Claude, whose tokenizer is not public.

Text is encoded with Qwen's tokenizer and its tokens are stretched by a factor, so that a shared
head stays a shared head and the count is near the real one. The factors are those at which a
public reconstruction of the counts (PyPI `ctok` 1.3; not the vendor's) gives the same totals for
system prompts and tools of coding agents. The vendor says only that the newer tokenizer gives about
30 % more tokens than the older one.
Source: https://docs.claude.com/en/docs/build-with-claude/token-counting
"""

import re
from typing import TYPE_CHECKING

from cachediag.tokens.tokenizers.bytepairs import CUTS, BytePairs
from cachediag.tokens.tokenizers.qwen import rank_encoding

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Claude", "load", "scale_of"]

_OLDER = 1.08
_NEWER = 1.46
_NEWER_FROM = (4, 7)
_VERSION = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


class Claude:
    """Estimated tokens; nothing in a text is a special token.

    Args:
        name: the model's name, or `claude`.
        scale: estimated tokens for one of Qwen's.
    """

    exact = False
    cuts: re.Pattern[str] | None = CUTS

    def __init__(self, name: str, scale: float) -> None:
        self.name = name
        self.scale = scale
        self.special: Mapping[str, int] = {}
        self._base = BytePairs(name, rank_encoding("qwen"), {}, nfc=True)

    def encode(self, text: str) -> list[int]:
        """Qwen's ids, some of them repeated or left out so that their number is right."""
        ids, scale = self._base.encode(text), self.scale
        # Rounding adds half a token at most, so that no place lies past the end.
        return [ids[int(at / scale)] for at in range(round(len(ids) * scale))]

    def characters(self, text: str, token: int) -> int:
        """Characters of a text before an estimated token."""
        if token >= len(self.encode(text)):
            return len(text)
        return self._base.characters(text, int(token / self.scale))

    def vocabulary(self) -> list[bytes]:
        """Qwen's, which stands for one that is not public."""
        return self._base.vocabulary()


def load(model: str = "claude") -> Claude:
    """The estimate for a model by its name."""
    return Claude(model, scale_of(model))


def scale_of(model: str) -> float:
    """Estimated tokens for one of Qwen's; the older tokenizer's where the name tells nothing."""
    found = _VERSION.search(model)
    version = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    return _NEWER if version >= _NEWER_FROM else _OLDER
