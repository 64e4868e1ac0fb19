"""A `tokenizer.json` run by Hugging Face's own `tokenizers` library, as engines run it."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cachediag.errors import InputError
from cachediag.extras import need
from cachediag.model import Json
from cachediag.tokens.tokenizers.spelling import spelled_out

if TYPE_CHECKING:
    from tokenizers import Encoding

__all__ = ["Library"]


class Library:
    """A tokenizer of any kind. Exact, and slow.

    Args:
        path: the file, for messages.
        data: its content.

    Raises:
        InputError: the library cannot read it.
        UsageError: the library is not installed.
    """

    exact = True
    cuts: re.Pattern[str] | None = None

    def __init__(self, path: Path, data: Json) -> None:
        need("tokenizers", "tokenizers", str(path))
        from tokenizers import Tokenizer

        self.name = str(path)
        try:
            self._tokenizer = Tokenizer.from_str(msgspec.json.encode(data).decode())
        except Exception as error:  # noqa: BLE001 - the library raises nothing more exact
            raise InputError(
                f"not a tokenizer.json that the tokenizers library can read: {error}",
                where=str(path),
                remedy="Give a file that a model came with.",
            ) from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._added = [token["content"] for token in data["added_tokens"]]
        self.special = _places(data["added_tokens"])

    def encode(self, text: str) -> list[int]:
        """Ids of a text, special tokens in it taken as such, none added."""
        ids: list[int] = self._encoded(text).ids
        return ids

    def characters(self, text: str, token: int) -> int:
        """Characters of a text before one of its tokens."""
        offsets = self._encoded(text).offsets
        return offsets[token][0] if token < len(offsets) else len(text)

    def vocabulary(self) -> list[bytes]:
        """What each id stands for, read back from the way in which the file spells bytes."""
        return spelled_out(self._tokenizer.get_vocab(), set(self._added))

    def _encoded(self, text: str) -> "Encoding":
        try:
            return self._tokenizer.encode(text, add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):
            # A lone surrogate. An engine would have refused the request.
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return self._tokenizer.encode(text, add_special_tokens=False)


def _places(added: Iterable[Json]) -> dict[str, int]:
    """The special tokens before which a text can be cut.

    The library looks for them first, in the text as it stands, and takes the leftmost, longest one.
    So no other may begin before such a token and reach into it, and none may look at the character
    beside it.
    """
    flags = ("lstrip", "rstrip", "normalized", "single_word")
    tokens = [token for token in added if token["content"]]
    places = {
        token["content"]: token["id"]
        for token in tokens
        if token.get("special") and not any(token.get(flag) for flag in flags)
    }
    heads = {text[0] for text in places}
    overlap = any(heads & set(token["content"][1:]) for token in tokens)
    words = any(token.get("single_word") for token in tokens)
    return {} if overlap or words else places
