"""What travels through a simulated fleet, and what its parts are asked.

A prompt is a tuple of block keys and no text. A key names a block of tokens and all that stands
before it, as in the traces of Mooncake (FAST '25): equal keys, equal prefixes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cachediag.analysis.engines import CacheRequest
from cachediag.analysis.rates import share

__all__ = [
    "Cache",
    "Change",
    "Heads",
    "Policy",
    "Replica",
    "Request",
    "Run",
    "Scale",
    "Server",
    "Unit",
    "Workload",
]

Unit = Literal["bytes", "characters"]
"""What a router counts the head of a request in: bytes of the body as it is on the wire, or
characters of the text of its messages."""


class Heads(Protocol):
    """The beginnings of a recorded request, as a router sees them."""

    def key(self, unit: Unit, length: int) -> int:
        """A number that two requests have in common when their first `length` units are equal."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One request, as far as routers and caches look at it. Times are in seconds."""

    arrival: float
    """When it reaches the router, from the start of the run."""
    session: str
    """Whose request it is: the conversation."""
    blocks: tuple[int, ...]
    """Keys of the prompt's blocks in order; the last block may be shorter than the others."""
    input_tokens: int
    output_tokens: int
    kept: tuple[int, ...] | None = None
    """Keys of the blocks that a cache may hold once the request has ended: those of the prompt,
    and of the reply after it. None for those of the prompt alone."""
    heads: Heads | None = None
    """None where there is no text; then a head is told by its blocks (see `Scale`)."""
    asked: CacheRequest | None = None
    """What an engine's own cache model is asked; None where there are no tokens."""
    pause: float = 0.0
    """Seconds from the end of this request to the arrival of the next of its client."""
    then: Callable[[], "Request"] | None = None
    """Makes the client's next request, whose own `arrival` does not count: it is sent `pause`
    seconds after this one has ended. None where it does not wait for this one."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How blocks are put into the units of a router, where there is no text."""

    block: int
    """Tokens in a block."""
    characters: float = 4.0
    """Characters of text a token, on the average; bytes likewise."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests to be made: the same for the same seed."""

    name: str
    scale: Scale
    requests: Callable[[int], Iterator[Request]]
    """Yields, for a seed, all requests that wait for no other, in the order of their arrival."""
    assumed: tuple[str, ...] = ()
    """What is taken for granted where the source does not say, a line each."""
    exact: bool = True
    """The tokens are as the backend itself counts them, or as the trace or the generator says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What each replica can do.

    A prompt's tokens that the cache does not hold are prefilled at `prefill_rate`, one prompt at a
    time, first come first served. While a prompt is prefilled no other request goes on; after it,
    all that run get their tokens at once: each at `decode_rate`, or, once there are more of them
    than `batch_rate` allows, at its share of that. This stands for continuous batching.
    """

    prefill_rate: float
    """Prompt tokens a second."""
    decode_rate: float
    """Generated tokens a second of a request, as long as few run."""
    batch_rate: float
    """Generated tokens a second of all requests together, at most."""
    latency: float = 0.0
    """Seconds of each request that keep no replica busy: the way there and back, reading the body,
    waiting for the running step to end. Both its times have them in them."""
    concurrency: int = 256
    """Requests that run at once; more of them wait."""
    capacity: int | None = None
    """Tokens that the prefix cache holds; None for no limit."""
    engine: str | None = None
    """An engine's own cache model, as on the command line, for requests that have tokens. None for
    blocks that are dropped when they were not used for longest, the last of a prompt first."""


class Cache(Protocol):
    """The prefix cache of one replica."""

    def begin(self, request: Request, now: float) -> int:
        """Look a request up as its prefill begins.

        Args:
            request: the one that is prefilled next.
            now: seconds from the start of the run.

        Returns:
            Tokens of its prompt that need not be prefilled; fewer than it has.
        """
        ...

    def end(self, request: Request, now: float) -> None:
        """Keep what is kept of a request, now that its last token is generated.

        Args:
            request: one that `begin` was given.
            now: seconds from the start of the run.
        """
        ...

    def held(self, blocks: tuple[int, ...]) -> int:
        """How many blocks at the head of a prompt are kept, without touching them.

        0 where the cache is not made of blocks.
        """
        ...


class Replica(Protocol):
    """A server, as far as a router may look at it."""

    @property
    def id(self) -> int:
        """From 0 in the order of joining; never given twice."""
        ...

    @property
    def outstanding(self) -> int:
        """Requests that were sent there and have not ended."""
        ...

    @property
    def waiting(self) -> int:
        """How many of these have not begun their prefill."""
        ...

    @property
    def prefilling(self) -> bool:
        """Whether the prefill of one of them has begun and not ended."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens of all outstanding requests: prompts, and what is generated so far or to be."""
        ...

    @property
    def cache(self) -> Cache:
        """Its prefix cache, for routers that are told what it holds."""
        ...


class Policy(ABC):
    """Chooses a replica for each request.

    A policy's parameters are keyword arguments of its constructor, by their published names; what
    it needs beside them it is given in `prepare`.
    """

    name: str
    """As on the command line."""

    def prepare(self, scale: Scale, seed: int) -> None:  # noqa: B027 - most need nothing
        """Learn, once and before anything else, what a block is and the seed of the run.

        Args:
            scale: tokens of a block, characters of a token.
            seed: what all random choices of the run come from.
        """

    @abstractmethod
    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:
        """The replica that is to serve a request.

        Args:
            request: it has just arrived.
            replicas: those that take requests now, in the order of their joining; at least one.
            now: seconds from the start of the run.
        """
        ...

    def ended(self, request: Request, replica: Replica, now: float) -> None:  # noqa: B027
        """Learn that a request has ended.

        Args:
            request: its last token is generated.
            replica: the one that `choose` gave.
            now: seconds from the start of the run.
        """

    def left(self, replica: int) -> None:  # noqa: B027
        """Learn that the replica of that id takes no more requests."""


@dataclass(frozen=True, slots=True)
class Change:
    """A replica joins or leaves. One that leaves ends what it has been sent."""

    at: float
    """Seconds from the start of the run."""
    replicas: int
    """How many join, or, below zero, leave: those first that joined last."""


@dataclass(frozen=True, slots=True)
class Run:
    """One policy over one workload, from one seed."""

    policy: str
    seed: int
    requests: int = 0
    input_tokens: int = 0
    reused_tokens: int = 0
    output_tokens: int = 0
    blocks: int = 0
    blocks_reused: int = 0
    """Blocks at the heads of prompts that the cache held: a partly filled last one counts."""
    seconds: float = 0.0
    """From the first arrival to the end of the last request."""
    ttft: Sequence[float] = field(default_factory=tuple)
    """Seconds to the first token of each request, in the order of their ends."""
    total: Sequence[float] = field(default_factory=tuple)
    """Seconds to the last token, in the same order."""
    busy: Sequence[float] = field(default_factory=tuple)
    """Seconds that each replica prefilled or decoded, by its id."""
    taken: Sequence[int] = field(default_factory=tuple)
    """Requests that each replica was sent, by its id."""

    @property
    def hit_rate(self) -> float:
        """The share of the prompts' tokens that were not prefilled."""
        return share(self.reused_tokens, self.input_tokens)

    @property
    def block_hit_rate(self) -> float:
        """The share of the prompts' blocks that the cache held."""
        return share(self.blocks_reused, self.blocks)
