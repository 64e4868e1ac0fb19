"""Prompts out of made-up chunks, and what is true of them by comparing tokens one by one."""

from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

from cachediag.analysis.engines import CacheModel, CacheRequest, Served
from cachediag.tokens.sequence import Chunk, TokenSequence


@cache
def _chunk(ids: tuple[int, ...]) -> Chunk:
    data = array("I", ids)
    return Chunk(data, blake2b(data.tobytes(), digest_size=12).digest())


def prompt(*parts: Sequence[int]) -> TokenSequence:
    """A prompt of these chunks; equal chunks are one object, as an encoder makes them."""
    return TokenSequence(_chunk(tuple(part)) for part in parts)


def text(length: int, number: int = 0) -> range:
    """Tokens that no text of another number has."""
    return range(number * 1_000_000, number * 1_000_000 + length)


def common(a: Iterable[int], b: Iterable[int]) -> int:
    count = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        count += 1
    return count


class Session:
    """Feeds a model, and works out what each prompt shares with what came before."""

    def __init__(self, model: CacheModel) -> None:
        self.model = model
        self._seen: list[list[int]] = []

    def send(self, tokens: TokenSequence, lane: str = "main", **more: Any) -> Served:
        ids = list(tokens)
        request = CacheRequest(
            index=len(self._seen),
            lane=lane,
            tokens=tokens,
            shared=max((common(ids, old) for old in self._seen), default=0),
            **more,
        )
        served = self.model.serve(request)
        self._seen.append(ids if request.reply is None else list(request.reply))
        assert 0 <= served.reused <= request.shared
        assert 0 <= served.created_1h <= served.created <= len(ids)
        return served

    def reused(self, tokens: TokenSequence, lane: str = "main", **more: Any) -> int:
        return self.send(tokens, lane, **more).reused

    def code(self, tokens: TokenSequence, lane: str = "main", **more: Any) -> str | None:
        reason = self.send(tokens, lane, **more).reason
        return reason.code if reason else None
