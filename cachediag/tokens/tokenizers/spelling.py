"""How a tokenizer.json spells the bytes of its tokens: as letters, or with byte pieces.

A byte-level vocabulary writes each byte as a printable character (GPT-2's table); one with byte
fallback writes text as it is, a space as U+2581, and lone bytes as `<0x0A>`.
Sources: https://huggingface.co/docs/tokenizers/api/pre-tokenizers#tokenizers.pre_tokenizers.ByteLevel,
https://huggingface.co/docs/tokenizers/api/decoders
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

__all__ = ["spelled_out"]

_BYTE_PIECE: Final = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE: Final = "\u2581"
_PRINTABLE: Final = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_MOST_LETTERS: Final = 128
"""So many of the 256 letters stand alone in a byte-level vocabulary, and never in another."""


def _letters() -> dict[str, int]:
    letters = {chr(byte): byte for byte in _PRINTABLE}
    others = (byte for byte in range(256) if byte not in _PRINTABLE)
    return letters | {chr(256 + at): byte for at, byte in enumerate(others)}


_LETTERS: Final = _letters()


def spelled_out(vocabulary: Mapping[str, int], added: Collection[str]) -> list[bytes]:
    """The bytes of each id.

    Args:
        vocabulary: ids by token, as the file spells them.
        added: tokens that are spelled as they are: the added ones.

    Returns:
        By id; empty for an id that is none.
    """
    pieces = any(map(_BYTE_PIECE.fullmatch, vocabulary))
    byte_level = not pieces and sum(map(vocabulary.__contains__, _LETTERS)) >= _MOST_LETTERS
    tokens = [b""] * (max(vocabulary.values(), default=-1) + 1)
    for token, number in vocabulary.items():
        if token in added:
            tokens[number] = token.encode()
        elif byte_level and all(map(_LETTERS.__contains__, token)):
            tokens[number] = bytes(map(_LETTERS.__getitem__, token))
        elif piece := _BYTE_PIECE.fullmatch(token):
            tokens[number] = bytes.fromhex(piece[1])
        else:
            tokens[number] = token.replace(_SPACE, " ").encode()
    return tokens
