"""When requests reach the router: as recorded, faster or slower, or at random at a rate."""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from cachediag.errors import UsageError
from cachediag.simulate.model import Request

__all__ = ["Arrivals", "Made", "arrivals", "check_load", "offered", "poisson", "source"]

Made = Callable[[Iterator[float], int, Callable[[], Request] | None], Iterator[Request]]
"""Makes all requests in turn.

It takes when each of them arrives, how many of them are followed by another, and what makes that
other one.
"""

_REMEDY = "Write recorded, speed=FACTOR or rate=REQUESTS_A_SECOND."


@dataclass(frozen=True, slots=True)
class Arrivals:
    """How the times of a recording or a trace are taken.

    Raises:
        UsageError: a factor or rate is not above 0.
    """

    speed: float = 1.0
    """How many times faster than recorded; at 2 all times are halved."""
    rate: float | None = None
    """Requests a second, on the average, of a Poisson process in place of the times recorded;
    their order stays. None takes the times."""

    def __post_init__(self) -> None:
        for name, value in (("speed", self.speed), ("rate", self.rate)):
            if value is not None and not 0 < value < math.inf:
                raise UsageError(f"the {name} of arrivals must be above 0, not {value:g}")

    def clock(self, seed: int) -> Callable[[float], float]:
        """What gives the seconds at which each request arrives, asked in the order of requests.

        Args:
            seed: of the random times.

        Returns:
            A function of the seconds at which the request arrived when it was recorded.
        """
        if self.rate is None:
            return lambda recorded: recorded / self.speed
        times = poisson(self.rate, seed)
        return lambda _: next(times)


def arrivals(spec: str) -> Arrivals:
    """The arrivals that the command line names: `recorded`, `speed=X` or `rate=R`.

    Raises:
        UsageError: it is none of these.
    """
    if spec == "recorded":
        return Arrivals()
    name, _, text = spec.partition("=")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if name not in ("speed", "rate") or math.isnan(value):
        raise UsageError(f"no arrivals are called {spec!r}", remedy=_REMEDY)
    return Arrivals(speed=value) if name == "speed" else Arrivals(rate=value)


def poisson(rate: float, seed: int) -> Iterator[float]:
    """Seconds at which events happen that do not know of each other, without end.

    Args:
        rate: events a second, on the average.
        seed: the same gives the same times.
    """
    draw, time = source(seed, "arrivals").expovariate, 0.0
    while True:
        time += draw(rate)
        yield time


def offered(
    made: Made, count: int, seed: int, *, rate: float | None, clients: int | None, ramp: float
) -> Iterator[Request]:
    """The requests of a generator that wait for no other: all, or those that clients begin with.

    Args:
        made: makes them all.
        count: how many it makes.
        seed: of the run.
        rate: new ones a second; None for clients.
        clients: how many clients each wait for an end before they go on. What is sent next is
            whatever is made next, whichever client sends it.
        ramp: seconds over which these begin.
    """
    if rate is not None:
        return made(poisson(rate, seed), 0, None)
    return _by_clients(made, count, clients or 1, ramp)


def _by_clients(made: Made, count: int, clients: int, ramp: float) -> Iterator[Request]:
    going = min(clients, count)
    times = (number * ramp / going for number in range(count))
    requests = made(times, count - going, lambda: next(requests))
    yield from tuple(islice(requests, going))


def source(seed: int, purpose: str) -> random.Random:
    """Random numbers for one purpose, which those for another do not change.

    Args:
        seed: of the run.
        purpose: what they are for.
    """
    return random.Random(f"{purpose} {seed}")  # noqa: S311 - repeatable, not secret


def check_load(rate: float | None, clients: int | None, ramp: float) -> None:
    """See that a generator is told either a rate or a number of clients.

    Args:
        rate: new ones a second.
        clients: how many clients each wait for the answer before they go on.
        ramp: seconds over which these begin.

    Raises:
        UsageError: it is told neither or both, or what cannot be.
    """
    if (rate is None) == (clients is None):
        raise UsageError(
            "a workload needs either a rate or a number of clients",
            remedy="Give rate = R (a second) or clients = C (each waits for its answer).",
        )
    if rate is not None and not 0 < rate < math.inf:
        raise UsageError(f"the rate must be above 0, not {rate:g}")
    if clients is not None and clients < 1:
        raise UsageError(f"there must be 1 client or more, not {clients}")
    if not 0 <= ramp < math.inf or (ramp and clients is None):
        raise UsageError(
            f"no ramp is {ramp:g} seconds long here", remedy="It is for clients, and 0 or more."
        )
