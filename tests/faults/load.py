"""Exchanges of many sizes, framings and encodings, each of which can be told from all others."""

import asyncio
import hashlib
import json
import random
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import brotli
import zstandard

from tests.conftest import Received
from tests.faults.net import Reply, Response, Tunnel, connected, talk

__all__ = ["Load", "Outcome", "Plan", "plans"]

START = b'event: message_start\ndata: {"type":"message_start","message":{"model":"tiny-1"}}\n\n'


@dataclass(frozen=True)
class Plan:
    """What one exchange is to be; the upstream reads it from the request."""

    number: int
    size: int
    """Bytes of the request, at least."""
    events: int
    framing: str
    """`chunked`, `length` or `close`."""
    encoding: str
    """`identity`, `gzip`, `br` or `zstd`."""

    def request(self) -> bytes:
        """The body: text that does not compress to nothing, and is no other exchange's."""
        padding = random.Random(self.number).randbytes(self.size // 2).hex()
        plan = [self.number, self.size, self.events, self.framing, self.encoding]
        return json.dumps({"model": f"m-{self.number}", "plan": plan, "padding": padding}).encode()

    def answer(self, request: bytes) -> list[bytes]:
        """The events, which say what request they answer."""
        digest = hashlib.sha256(request).hexdigest()
        rest = (
            {"type": "content_block_delta", "delta": {"text": f"{digest[:12]} {event} " * 3}}
            for event in range(self.events)
        )
        return [START, *(b"data: %s\n\n" % json.dumps(each).encode() for each in rest)]


def plans(seed: int, count: int, *, first: int = 0, largest: int = 21) -> Iterator[Plan]:
    """Plans of all kinds, the sizes spread evenly over their orders of magnitude.

    Args:
        seed: the same for the same plans.
        count: how many.
        first: number of the first.
        largest: power of two of the largest request.
    """
    chance = random.Random(seed)
    for number in range(first, first + count):
        yield Plan(
            number,
            int(2 ** chance.uniform(10, largest)),
            int(2 ** chance.uniform(0, 11)),
            chance.choice(["chunked", "chunked", "length", "close"]),
            chance.choice(["identity", "identity", "gzip", "br", "zstd"]),
        )


def _encoder(encoding: str) -> tuple[Callable[[bytes], bytes], Callable[[], bytes]]:
    """What encodes an event so that it can be decoded at once, and what comes at the end."""
    if encoding == "gzip":
        gzip = zlib.compressobj(wbits=31)
        return lambda data: gzip.compress(data) + gzip.flush(zlib.Z_SYNC_FLUSH), gzip.flush
    if encoding == "br":
        br = brotli.Compressor(quality=4)
        return lambda data: br.process(data) + br.flush(), br.finish
    if encoding == "zstd":
        zstd = zstandard.ZstdCompressor().compressobj()
        block = zstandard.COMPRESSOBJ_FLUSH_BLOCK
        return lambda data: zstd.compress(data) + zstd.flush(block), zstd.flush
    return bytes, bytes


@dataclass(frozen=True)
class Outcome:
    """An exchange as its client saw it."""

    plan: Plan
    request: bytes
    sent: bytes
    """What the upstream sent, encoded."""
    response: Response
    ended: float
    """When the client had all of it, by the monotonic clock."""

    @property
    def right(self) -> bool:
        """Whether the client got what was sent, and no more."""
        return self.response.whole and self.response.body == self.sent


@dataclass
class Load:
    """An upstream that goes on only when its client has what was sent so far.

    A stream that is held back anywhere so comes to a halt.
    """

    lockstep: int = 4
    """Events for which it waits."""
    sent: dict[int, bytearray] = field(default_factory=dict)
    got: dict[int, int] = field(default_factory=dict)
    _more: dict[int, asyncio.Event] = field(default_factory=dict)

    async def answer(self, request: Received, reply: Reply) -> None:
        """Answer as the request's plan says."""
        plan = Plan(*json.loads(request.body)["plan"])
        encode, finish = _encoder(plan.encoding)
        pieces = [encode(event) for event in plan.answer(request.body)]
        pieces.append(finish())
        headers: dict[str, Any] = {"content_type": "text/event-stream"}
        if plan.encoding != "identity":
            headers["content_encoding"] = plan.encoding
        if plan.framing == "chunked":
            headers["transfer_encoding"] = "chunked"
        elif plan.framing == "length":
            headers["content_length"] = sum(map(len, pieces))
        else:
            headers["connection"] = "close"
        await reply.head(**headers)
        sent = self.sent[plan.number] = bytearray()
        for index, piece in enumerate(filter(None, pieces)):
            await (reply.chunk if plan.framing == "chunked" else reply.raw)(piece)
            sent += piece
            if index < self.lockstep:
                await self._arrived(plan.number, len(sent))
        if plan.framing == "chunked":
            await reply.end()
        elif plan.framing == "close":
            reply.writer.close()

    async def _arrived(self, number: int, count: int) -> None:
        more = self._more.setdefault(number, asyncio.Event())
        while self.got.get(number, 0) < count:
            more.clear()
            await more.wait()

    def took(self, number: int, data: bytes) -> None:
        """A client has got a piece of an answer."""
        self.got[number] = self.got.get(number, 0) + len(data)
        self._more.setdefault(number, asyncio.Event()).set()

    async def client(
        self, url: str, given: list[Plan], tunnel: Tunnel | None = None
    ) -> list[Outcome]:
        """One client, which keeps its connection as long as it lasts."""
        left = list(given)
        outcomes: list[Outcome] = []
        while left:
            async with connected(url, tunnel) as (reader, writer):
                while left:
                    plan = left.pop(0)
                    request = plan.request()

                    def took(data: bytes, number: int = plan.number) -> None:
                        self.took(number, data)

                    response = await talk(reader, writer, request, took=took)
                    # Nothing was, where somebody answered in the upstream's place.
                    sent = bytes(self.sent.get(plan.number, b""))
                    outcomes.append(Outcome(plan, request, sent, response, time.monotonic()))
                    if plan.framing == "close":
                        break
        return outcomes

    async def until_down(self, url: str, given: Iterator[Plan]) -> list[Outcome]:
        """One client, that goes on until nobody answers; gives what it got whole."""
        outcomes: list[Outcome] = []
        with suppress(OSError, asyncio.IncompleteReadError):
            for plan in given:
                for outcome in await self.client(url, [plan]):
                    if not outcome.response.whole:
                        return outcomes
                    outcomes.append(outcome)
        return outcomes

    async def clients(
        self, url: str, given: list[Plan], count: int, tunnel: Tunnel | None = None
    ) -> list[Outcome]:
        """So many clients at once, which share the plans."""
        shares = [given[start::count] for start in range(count)]
        outcomes = await asyncio.gather(*(self.client(url, share, tunnel) for share in shares))
        return [outcome for each in outcomes for outcome in each]
