"""What is played: the servers as far as they are told, the rest measured or taken for granted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Literal

from cachediag.analysis.analyze import analyse, summarise
from cachediag.analysis.choice import Choice
from cachediag.analysis.tokenview import Counter
from cachediag.errors import CachediagError, InputError, UsageError
from cachediag.model import ExchangeInfo
from cachediag.session import library
from cachediag.session.source import Source
from cachediag.simulate.comparison import SEEDS, Fleet
from cachediag.simulate.model import Server, Workload
from cachediag.simulate.policies import POLICIES
from cachediag.simulate.scenario import named, read_scenario, shipped
from cachediag.simulate.workloads import mooncake, recorded
from cachediag.simulate.workloads.arrivals import Arrivals

__all__ = [
    "Given",
    "Kind",
    "Measured",
    "Wanted",
    "kind_of",
    "measure",
    "scenario",
    "sessions",
    "trace",
]

Kind = Literal["session", "trace", "scenario-file", "scenario"]
"""What the command line names; a `scenario` is one that comes along."""

_REPLICAS, _REPEATS = 4, 5
_PREFILL, _DECODE = 10_000.0, 50.0
_FULL_PACE = 32
"""So many requests are taken to decode at their own rate before they share what there is."""
_LEAST_DECODE = 16
# No server generates faster: the answer was there all at once.
_FASTEST = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line says; None where it says nothing."""

    replicas: int | None = None
    repeats: int | None = None
    seed: int | None = None
    speed: float | None = None
    """How many times faster than recorded."""
    rate: float | None = None
    """Requests a second."""
    closed: bool = False
    prefill_rate: float | None = None
    """Tokens a second, as the two below are; see `Server`."""
    decode_rate: float | None = None
    batch_rate: float | None = None
    concurrency: int | None = None
    """Requests that a replica runs at once."""
    capacity: int | None = None
    """Tokens that its cache holds."""
    engine: str | None = None

    def check(self) -> None:
        """See that it makes sense together.

        Raises:
            UsageError: it does not.
        """
        if self.engine is not None and self.capacity is not None:
            raise UsageError(
                "an engine's own cache has its own options",
                where="--capacity",
                remedy="Write it with the engine: --engine vllm:capacity=TOKENS",
            )
        if self.speed is not None and self.rate is not None:
            raise UsageError("requests come at a rate, or as recorded", where="--speed")
        if self.seed is not None and self.seed not in SEEDS:
            raise UsageError(
                f"a seed is a number from 0 to {SEEDS[-1]}, not {self.seed}", where="--seed"
            )

    @property
    def arrivals(self) -> Arrivals:
        """When requests come."""
        return Arrivals(speed=self.speed or 1.0, rate=self.rate)


@dataclass(frozen=True, slots=True)
class Given:
    """What is played."""

    fleet: Fleet
    policies: tuple[str, ...]
    """Those that are compared where none are named."""
    told: tuple[str, ...]
    """What of the servers is measured or taken for granted, a line each."""
    sources: tuple[Source, ...] = ()
    """The recorded sessions; there are none in a trace or a scenario."""
    counter: Counter | None = None
    """What their tokens are counted by."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a recording tells of its server, in tokens a second; None where it tells nothing."""

    prefill_rate: float | None = None
    decode_rate: float | None = None


def kind_of(what: str) -> Kind:
    """What a name on the command line means.

    A file comes before a recorded session, and that before a scenario that comes along.

    Raises:
        UsageError: there is nothing of that name.
    """
    path = Path(what)
    if path.is_file() and path.suffix.lower() == ".toml":
        return "scenario-file"
    if path.is_file() and _is_trace(path):
        return "trace"
    if what == "-":
        return "session"
    try:
        library.resolve(what)
    except CachediagError:
        if what in shipped():
            return "scenario"
        raise UsageError(
            "no such file, recorded session or scenario",
            where=what,
            remedy=f"Name one of the scenarios that come along: {', '.join(shipped())}.",
        ) from None
    return "session"


def _is_trace(path: Path) -> bool:
    """Whether the first line is one of a Mooncake trace."""
    try:
        mooncake.read(path)
    except InputError:
        return False
    return True


def measure(sources: Sequence[Source], choice: Choice) -> Measured:
    """What recorded sessions tell of the server that they were recorded from.

    Args:
        sources: the sessions.
        choice: what their tokens are counted by, and the cache that the server is taken to have.
    """
    rates = []
    infos: list[ExchangeInfo] = []
    for source in sources:
        fresh = choice.anew()
        analysis = summarise(analyse(source.exchanges(), source.exchange, fresh), fresh)
        if analysis.prefill_rate is not None:
            rates.append(analysis.prefill_rate)
        infos += [request.info for request in analysis.requests]
    decoded = list(_decode_rates(infos))
    return Measured(median(rates) if rates else None, median(decoded) if decoded else None)


def _decode_rates(infos: Iterable[ExchangeInfo]) -> Iterable[float]:
    for info in infos:
        output = info.usage.output_tokens if info.usage else None
        if output is None or output < _LEAST_DECODE or info.error is not None:
            continue
        if info.first_token is not None and info.ended is not None:
            rate = (output - 1) / max(info.ended - info.first_token, 1e-3)
            if rate <= _FASTEST:
                yield rate


def sessions(sources: Sequence[Source], choice: Choice, wanted: Wanted) -> Given:
    """Recorded sessions, on servers like the one that they were recorded from.

    Args:
        sources: the sessions; all begin at once.
        choice: what their tokens are counted by.
        wanted: what the command line says.

    Raises:
        CachediagError: they cannot be played, or what is said makes no sense.
    """
    wanted.check()
    played = recorded.workload(sources, choice, arrivals=wanted.arrivals, closed=wanted.closed)
    measured = measure(sources, choice)
    fleet, told = _fleet(played, wanted, measured)
    return Given(fleet, tuple(POLICIES), told, tuple(sources), choice.counter)


def trace(path: str, wanted: Wanted) -> Given:
    """A Mooncake trace.

    Raises:
        CachediagError: it cannot be read, or what is said makes no sense.
    """
    wanted.check()
    _refuse(path, {"--engine": wanted.engine, "--closed": wanted.closed or None})
    fleet, told = _fleet(mooncake.read(path, arrivals=wanted.arrivals), wanted, Measured())
    return Given(fleet, tuple(POLICIES), told)


def scenario(what: str, wanted: Wanted) -> Given:
    """A scenario, but for what the command line says.

    Args:
        what: its file, or its name.
        wanted: what the command line says.

    Raises:
        CachediagError: it cannot be read, or what is said makes no sense.
    """
    wanted.check()
    refused = {
        "--engine": wanted.engine,
        "--speed": wanted.speed,
        "--rate": wanted.rate,
        "--closed": wanted.closed or None,
    }
    _refuse(what, refused)
    found = named(what) if kind_of(what) == "scenario" else read_scenario(Path(what))
    assert found is not None
    of_servers = ("prefill_rate", "decode_rate", "batch_rate", "concurrency", "capacity")
    server, of_server = _said(wanted, of_servers)
    fleet, of_fleet = _said(wanted, ("replicas", "repeats", "seed"))
    changed = replace(found.fleet, server=replace(found.fleet.server, **server), **fleet)
    return Given(changed, found.policies, (*of_server, *of_fleet, *found.assumed))


def _said(wanted: Wanted, names: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    """What is said of some things, and that it is not as in the scenario, a line each."""
    values = {name: value for name in names if (value := getattr(wanted, name)) is not None}
    lines = [
        f"{name.replace('_', ' ')} {value:,.12g}: as given, not as in the scenario"
        for name, value in values.items()
    ]
    return values, lines


def _refuse(where: str, options: Mapping[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            raise UsageError(f"{option} is for recorded sessions", where=where)


def _fleet(played: Workload, wanted: Wanted, measured: Measured) -> tuple[Fleet, tuple[str, ...]]:
    server, told = _server(wanted, measured)
    fleet = Fleet(
        workload=played,
        server=server,
        replicas=wanted.replicas or _REPLICAS,
        repeats=wanted.repeats or _REPEATS,
        seed=wanted.seed or 0,
    )
    return fleet, told


def _server(wanted: Wanted, measured: Measured) -> tuple[Server, tuple[str, ...]]:
    """The servers, and what of them is measured or taken for granted, a line each."""
    prefill, of_prefill = _rate(wanted.prefill_rate, measured.prefill_rate, _PREFILL)
    decode, of_decode = _rate(wanted.decode_rate, measured.decode_rate, _DECODE)
    batch, of_batch = wanted.batch_rate, "as given"
    if batch is None:
        batch, of_batch = _FULL_PACE * decode, f"taken for {_FULL_PACE} at full pace"
    told = (
        f"prefill of {prefill:,.0f} tokens a second: {of_prefill}",
        f"{decode:,.0f} tokens a second of a reply: {of_decode}",
        f"{batch:,.0f} tokens a second of all replies of a server: {of_batch}",
    )
    server = Server(
        prefill_rate=prefill,
        decode_rate=decode,
        batch_rate=batch,
        capacity=wanted.capacity,
        engine=wanted.engine,
    )
    if wanted.concurrency is not None:
        server = replace(server, concurrency=wanted.concurrency)
    return server, told


def _rate(wanted: float | None, measured: float | None, usual: float) -> tuple[float, str]:
    if wanted is not None:
        return wanted, "as given"
    if measured is not None:
        return measured, "an estimate, measured from the recording"
    return usual, "taken, since nothing tells"
