"""The encoder, which encodes each piece of a session's text once.

A prompt is cut before every special token, and at further places where the tokenizer shows some.
What stands between two cuts is encoded alone and remembered by its content, and the parts' ids in
turn are the ids of the whole.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

from cachediag.heads import common_head
from cachediag.tokens.sequence import Chunk, TokenSequence
from cachediag.tokens.special import pattern
from cachediag.tokens.tokenizers import Tokenizer

__all__ = ["Encoder"]

_LEAST = 1024
"""Characters of a chunk before it is cut where it need not be."""
_PART = 8
"""Chunks in a part of a text that is remembered by itself."""
_HELD = 1 << 24
"""Characters of the texts that are remembered whole."""
_ROWS = 64
"""Heads of prompts, and conversations, that are remembered for their next prompt to go on from."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Texts in a row, with nothing before them that a prompt cannot be cut from."""

    texts: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    sizes: tuple[int, ...]
    """Tokens of each chunk."""
    ends: tuple[int | None, ...]
    """For each text the number of chunks up to its end; None where it was encoded in one with the
    next."""


_NOTHING = _Row((), (), (), ())


class Encoder:
    """Encodes by one tokenizer, and remembers what it has encoded.

    Chunks grow with new text alone: four bytes a token, and some two hundred a chunk.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._special = pattern(tokenizer.special)
        self._openings = tuple(tokenizer.special)
        self._chunks: dict[bytes, Chunk] = {}
        self._texts: dict[str, tuple[Chunk, ...]] = {}
        self._heads: dict[str, _Row] = {}
        self._talks: dict[str, _Row] = {}
        self._held = 0
        heads = {text[0] for text in tokenizer.special}
        inner = {character for text in tokenizer.special for character in text[1:]}
        # None can begin in one text and end in the next if one begins there.
        self._special_apart = not heads & inner
        self._cuts_apart = tokenizer.cuts is not None and not any(map(str.isspace, heads | inner))

    def chunks(self, text: str) -> tuple[Chunk, ...]:
        """The chunks of a text that begins at a special token, or where a prompt begins."""
        found = self._texts.get(text)
        if found is None:
            found = tuple([chunk for part in self._parts(text) for chunk in self._part(part)])
            self._remember(text, found)
        return found

    def sequence(self, texts: Iterable[str], talk: int | None = None) -> TokenSequence:
        """The tokens of the texts in a row, taken as one text.

        A conversation that goes on from one that was encoded before is encoded from where it
        differs, whatever head it has.

        Args:
            texts: in order.
            talk: the number of the text with which the conversation begins, for a prompt that can
                be cut there; by default the second text that a prompt can be cut before.
        """
        given = tuple(texts)
        first = 1 if talk is None else talk
        start = next((n for n in range(first, len(given)) if self._opens(given[n])), len(given))
        head, rest = self._row(given[:start], self._heads), self._row(given[start:], self._talks)
        return TokenSequence(head.chunks + rest.chunks, head.sizes + rest.sizes)

    def characters(self, text: str, token: int) -> int:
        """Characters of a whole prompt before one of its tokens; its length past the last."""
        start = 0
        for chunk in self.chunks(text):
            if token < len(chunk.ids):
                part = text[start : start + chunk.size]
                return start + self.tokenizer.characters(part, token)
            token -= len(chunk.ids)
            start += chunk.size
        return start

    def _row(self, texts: tuple[str, ...], known: dict[str, _Row]) -> _Row:
        """Texts in a row; those that the latest with this first text began with are not encoded."""
        if not texts:
            return _NOTHING
        old = known.get(texts[0], _NOTHING)
        shared = common_head(texts, old.texts)
        while shared and (old.ends[shared - 1] is None or not self._is_cut(texts, shared)):
            shared -= 1
        if shared == len(texts) == len(old.texts):
            return old
        kept = (old.ends[shared - 1] or 0) if shared else 0
        chunks, ends = list[Chunk](), list[int | None]()
        for found, count in self._encoded(texts[shared:]):
            chunks += found
            ends += [*[None] * (count - 1), kept + len(chunks)]
        if len(known) >= _ROWS:
            known.clear()
        made = known[texts[0]] = _Row(
            texts,
            old.chunks[:kept] + tuple(chunks),
            old.sizes[:kept] + tuple([len(chunk.ids) for chunk in chunks]),
            old.ends[:shared] + tuple(ends),
        )
        return made

    def _encoded(self, texts: Sequence[str]) -> Iterator[tuple[tuple[Chunk, ...], int]]:
        """Chunks of the texts, and of how many: those between two cuts are encoded in one."""
        start = 0
        for end in range(1, len(texts) + 1):
            if self._is_cut(texts, end):
                yield self.chunks("".join(texts[start:end])), end - start
                start = end

    def _is_cut(self, texts: Sequence[str], at: int) -> bool:
        """Whether a prompt can be cut before one of the texts, or ends there."""
        return at == len(texts) or self._is_apart(texts[at - 1], texts[at])

    def _opens(self, text: str) -> bool:
        """Whether a prompt can be cut before a text whatever stands there.

        An estimate is none the worse for being cut anywhere.
        """
        if not self.tokenizer.exact:
            return True
        return self._special_apart and text.startswith(self._openings)

    def _is_apart(self, before: str, after: str) -> bool:
        """Whether a prompt can be cut between two texts."""
        if self._opens(after):
            return True
        if not self._cuts_apart or not before or not after:
            return False
        if after[0] == " ":
            return not before[-1].isspace()
        return before[-1] == "\n" and not after[0].isspace() and after[0] != "/"

    def _parts(self, text: str) -> Iterator[str]:
        starts = [] if self._special is None else [m.start() for m in self._special.finditer(text)]
        for start, end in pairwise(sorted({0, *starts, len(text)})):
            yield from self._cut(text[start:end], _PART * _LEAST)

    def _part(self, part: str) -> tuple[Chunk, ...]:
        if len(part) <= _LEAST:
            return (self._chunk(part),)
        found = self._texts.get(part)
        if found is None:
            found = tuple(map(self._chunk, self._cut(part, _LEAST)))
            self._remember(part, found)
        return found

    def _cut(self, text: str, least: int) -> Iterator[str]:
        cuts, start = self.tokenizer.cuts, 0
        while cuts is not None and (found := cuts.search(text, start + least)):
            place = found.start() if found[0] == " " else found.end()
            yield text[start:place]
            start = place
        yield text[start:]

    def _chunk(self, text: str) -> Chunk:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        found = self._chunks.get(digest)
        if found is None:
            found = Chunk(array("I", self.tokenizer.encode(text)), digest, len(text))
            self._chunks[digest] = found
        return found

    def _remember(self, text: str, chunks: tuple[Chunk, ...]) -> None:
        # Forgetting is cheap: the chunks stay, and the text is only cut anew.
        self._held += len(text)
        if self._held > _HELD:
            self._texts.clear()
            self._heads.clear()
            self._talks.clear()
            self._held = len(text)
        self._texts[text] = chunks
