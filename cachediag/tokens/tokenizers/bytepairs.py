"""Byte-pair encoding by tiktoken, with special tokens and normal form as Hugging Face has them.

Pre-tokenizer patterns are listed here only where tiktoken parts every text exactly as the Hugging
Face library does with the same pattern, and where the places that `cuts` finds are boundaries.
"""

import re
import unicodedata
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from cachediag.tokens.special import pattern

if TYPE_CHECKING:
    import tiktoken

__all__ = [
    "CUTS",
    "LLAMA_3",
    "O200K",
    "PATTERNS",
    "QWEN_2",
    "QWEN_3_5",
    "BytePairs",
    "encoding",
    "read_ranks",
]

QWEN_2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA_3 = QWEN_2.replace(r"\p{N}|", r"\p{N}{1,3}|")
"""Also that of GLM 4, and of cl100k but for its spelling."""
QWEN_3_5 = QWEN_2.replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(
    r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]"
)
_O200K_WORD = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]%s[\p{Ll}\p{Lm}\p{Lo}\p{M}]%s"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
)
O200K = (
    _O200K_WORD % ("*", "+")
    + _O200K_WORD % ("+", "*")
    + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

PATTERNS = frozenset({QWEN_2, LLAMA_3, QWEN_3_5, O200K})

_PICKED = r"[!#%')+\-13579;=?ACEGIKMOQSUWY\[\]_acegikmoqsuwy{}\u00c0-\u1000\u3001-\ud7ff]"
CUTS = re.compile(rf"[ \n](?={_PICKED}{{4}})(?:(?<=\S )|(?<=\n))")
"""Places at which a text can be cut, and either side encoded alone, under each of `PATTERNS`:
before a space that follows something else, and after a line feed that something other than white
space or a slash follows.

No alternative of the patterns matches across such a place: a space is matched as the first
character of a piece or within white space, and of what may follow a line feed all is white space
(in `O200K` also slashes). No alternative looks back, and the one that looks ahead, `\\s+(?!\\S)`,
looks at the character after a run of white space without line feeds, which is on the same side as
the run. Neither a space nor a line feed composes with a neighbour under NFC.

Only one place in sixteen or so is taken, by the characters that follow it, so that two texts which
agree from some place on are cut at the same places soon after it.
"""


class BytePairs:
    """A byte-pair tokenizer of known pattern.

    Args:
        name: as on the command line, or the file it was read from.
        encoding: what encodes text that holds no special tokens.
        special: special tokens and their ids.
        nfc: put text between special tokens in Unicode's normal form C.
    """

    exact = True
    cuts: re.Pattern[str] | None = CUTS

    def __init__(
        self,
        name: str,
        encoding: "tiktoken.Encoding",
        special: Mapping[str, int],
        *,
        nfc: bool = False,
    ) -> None:
        self.name = name
        self.special = special
        self._encoding = encoding
        self._nfc = nfc
        self._pattern = pattern(special)

    def encode(self, text: str) -> list[int]:
        """Ids of a text, special tokens in it taken as such."""
        ids: list[int] = []
        for number, part in enumerate(self._parts(text)):
            if number % 2:
                ids.append(self.special[part])
            elif part:
                ids += self._encoding.encode_ordinary(self._normal(part))
        return ids

    def characters(self, text: str, token: int) -> int:
        """Characters of a text before one of its tokens; of one begun before, without it."""
        count = 0
        for number, part in enumerate(self._parts(text)):
            ids = () if number % 2 else self._encoding.encode_ordinary(self._normal(part))
            length = 1 if number % 2 else len(ids)
            if length > token:
                return count + self._before(part, self._encoding.decode_bytes(ids[:token]))
            token -= length
            count += len(part)
        return count

    def vocabulary(self) -> list[bytes]:
        """What each id stands for."""
        tokens = [b""] * max(self._encoding.n_vocab, *[n + 1 for n in self.special.values()], 0)
        for number in range(self._encoding.n_vocab):
            # Ranks may have gaps.
            with suppress(KeyError):
                tokens[number] = self._encoding.decode_single_token_bytes(number)
        for text, number in self.special.items():
            tokens[number] = text.encode()
        return tokens

    def _parts(self, text: str) -> list[str]:
        return [text] if self._pattern is None else self._pattern.split(text)

    def _normal(self, text: str) -> str:
        return unicodedata.normalize("NFC", text) if self._nfc and not text.isascii() else text

    def _before(self, part: str, encoded: bytes) -> int:
        length = len(encoded.decode("utf-8", "ignore"))
        if self._normal(part) == part:
            return length
        # The normal form of a head grows with the head.
        sizes = range(len(part) + 1)
        return bisect_right(sizes, length, key=lambda size: len(self._normal(part[:size]))) - 1


def read_ranks(data: bytes) -> dict[bytes, int]:
    """Tokens and ranks of a tiktoken rank file: base64 and number, a line each.

    Raises:
        ValueError: it is no such file.
    """
    words = data.split()
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def encoding(name: str, ranks: dict[bytes, int], pat_str: str) -> "tiktoken.Encoding":
    """A tiktoken encoding that knows no special tokens."""
    import tiktoken

    return tiktoken.Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens={})
