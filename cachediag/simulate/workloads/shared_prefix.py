"""Made-up requests that share a long prefix: one system prompt, or some, with short questions."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate

from cachediag.simulate.model import Request, Scale, Workload
from cachediag.simulate.workloads.amounts import (
    Amount,
    check_above_nothing,
    check_least,
    counts,
    described,
)
from cachediag.simulate.workloads.arrivals import check_load, offered, source

__all__ = ["SharedPrefix"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPrefix:
    """Requests that each begin with one of a few prefixes and go on with text of their own.

    With `rate` they come as a Poisson process. With `clients` that many clients each send a
    request, wait for its end and send the next; the requests are the same, whoever sends them.

    Raises:
        UsageError: a value makes no sense.
    """

    requests: int
    """How many there are in all."""
    prefix_tokens: int = 8_000
    """Tokens of each prefix."""
    prefixes: int = 1
    """Different prefixes at a time."""
    uses: int | None = None
    """Requests that ask for a prefix before a new one takes its place, as documents come and go.
    None for prefixes that stay."""
    zipf: float = 0.0
    """How unequally they are liked: the n-th is asked for 1/n**zipf times as often as the first.
    0 for all alike; at 1 or more the first is hot."""
    suffix_tokens: Amount = 200
    """Tokens behind the prefix, which no other request has."""
    output_tokens: Amount = 200
    """Tokens generated."""
    rate: float | None = None
    """Requests a second, on the average."""
    clients: int | None = None
    """Clients that send one request after another. Either this or `rate`."""
    ramp: float = 0.0
    """Seconds over which the clients begin, one after another; at 0 all at once."""
    block: int = 16
    """Tokens of a block."""
    characters: float = 4.0
    """Characters, and bytes, of a token on the average: for routers that count in them."""

    def __post_init__(self) -> None:
        check_load(self.rate, self.clients, self.ramp)
        check_least(1, requests=self.requests, prefixes=self.prefixes, block=self.block)
        check_least(0, prefix_tokens=self.prefix_tokens, zipf=self.zipf)
        if self.uses is not None:
            check_least(1, uses=self.uses)
        check_above_nothing(characters=self.characters)

    def workload(self) -> Workload:
        """The requests, made as they are asked for."""
        return Workload(
            "shared-prefix", Scale(self.block, self.characters), self._requests, self._assumed()
        )

    def _assumed(self) -> tuple[str, ...]:
        prefixes = "1 prefix" if self.prefixes == 1 else f"{self.prefixes:,} prefixes"
        lasts = "" if self.uses is None else f", each of them for {self.uses:,} requests"
        return (
            f"{prefixes} of {self.prefix_tokens:,} tokens, liked by a Zipf exponent "
            f"of {self.zipf:g}{lasts}",
            f"behind it {described(self.suffix_tokens)} tokens of its own a request, and "
            f"{described(self.output_tokens)} tokens generated",
            "each request is a conversation of its own; no reply is sent again",
        )

    def _requests(self, seed: int) -> Iterator[Request]:
        made = partial(self._made, seed)
        return offered(
            made, self.requests, seed, rate=self.rate, clients=self.clients, ramp=self.ramp
        )

    def _made(
        self,
        seed: int,
        times: Iterator[float],
        followed: int,
        then: Callable[[], Request] | None,
    ) -> Iterator[Request]:
        """All requests in turn; the first `followed` of them make another when they have ended."""
        draw = source(seed, "requests")
        suffix, output = counts(self.suffix_tokens, draw), counts(self.output_tokens, draw)
        cumulated = list(accumulate((n + 1) ** -self.zipf for n in range(self.prefixes)))
        total, last = cumulated[-1], self.prefixes - 1
        block, whole = self.block, self.prefix_tokens // self.block
        heads: dict[int, tuple[int, ...]] = {}
        left: dict[int, int] = {}
        free = 0
        for number in range(self.requests):
            chosen = bisect_right(cumulated, draw.random() * total, hi=last)
            if chosen not in heads:
                heads[chosen], free = tuple(range(free, free + whole)), free + whole
                left[chosen] = self.uses or self.requests
            head = heads[chosen]
            left[chosen] -= 1
            if not left[chosen]:
                del heads[chosen]
            tokens, generated = self.prefix_tokens + suffix(), output()
            # The last token is generated and never fed.
            end = free + (tokens + generated - 1) // block - whole
            own, free = tuple(range(free, end)), end
            # The head is long: it is put to the rest only when that is whole.
            asked = own[: tokens // block - whole]
            if tokens % block:
                asked += (free,)
                free += 1
            yield Request(
                arrival=next(times),
                session=str(number),
                blocks=head + asked,
                input_tokens=tokens,
                output_tokens=generated,
                kept=head + own,
                then=then if number < followed else None,
            )
