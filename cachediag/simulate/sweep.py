"""SageMaker's `PrefixLength` and `ConcurrencyThreshold`, tried on one's own sessions."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachediag.analysis.tokenview import Counter
from cachediag.session.source import Source
from cachediag.simulate.comparison import Fleet, Outcome, Tell, ceiling, outcome
from cachediag.simulate.figures import estimate
from cachediag.simulate.lengths import LENGTHS, Looked, look
from cachediag.simulate.loop import play
from cachediag.simulate.model import Policy, Replica, Request, Run, Scale, Unit
from cachediag.simulate.policies import policy
from cachediag.verify.statistics import Estimate

__all__ = ["Cell", "Sweep", "spec", "sweep"]

_MOST = 1024
"""The highest `ConcurrencyThreshold` that there is."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair of the two numbers, and what it came to."""

    prefix_length: int
    """In the unit of the sweep."""
    threshold: int
    """Requests in flight at one replica."""
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Sweep:
    """All pairs."""

    fleet: Fleet
    looked: Looked
    cells: tuple[Cell, ...]
    """By `PrefixLength`, then by `ConcurrencyThreshold`."""
    random: Outcome
    """What routing at random came to."""
    ceiling: Run
    """One server that answers at once and forgets nothing."""

    @property
    def unit(self) -> Unit:
        """What `PrefixLength` counts."""
        return self.looked.unit

    @property
    def prefix_lengths(self) -> tuple[int, ...]:
        """The rows."""
        return tuple(dict.fromkeys(cell.prefix_length for cell in self.cells))

    @property
    def thresholds(self) -> tuple[int, ...]:
        """The columns; with a higher one than the last, no request is sent elsewhere."""
        return tuple(dict.fromkeys(cell.threshold for cell in self.cells))

    @property
    def equals(self) -> tuple[Cell, ...]:
        """The pairs that cannot be told from the one with the lowest time to first token.

        That is the mean, over the seeds, of the 90th percentile. Of a pair that is slower the 95 %
        interval of the differences, seed by seed, lies above 0; where there is one run of each,
        every difference counts.
        """
        lowest = min(self.cells, key=lambda cell: cell.outcome.figures.ttft.p90.value)
        return tuple(cell for cell in self.cells if _slower(cell.outcome, lowest.outcome).low <= 0)

    @property
    def beats_random(self) -> bool:
        """Whether random routing is slower than the recommended pair, told in the same way."""
        return _slower(self.random, self.recommended.outcome).low > 0

    @property
    def recommended(self) -> Cell:
        """Of the equals those with the smallest `PrefixLength`, and of these the fastest.

        The shorter the head, the less there is in it that may change.
        """
        return min(
            self.equals,
            key=lambda cell: (
                cell.prefix_length,
                cell.outcome.figures.ttft.p90.value,
                cell.threshold,
            ),
        )


def _slower(one: Outcome, than: Outcome) -> Estimate:
    """How much later the first token comes: the same requests were given to both."""
    pairs = zip(one.p90s, than.p90s, strict=True)
    return estimate([own - other for own, other in pairs])


def spec(prefix_length: int, threshold: int, unit: Unit) -> str:
    """SageMaker's policy with two numbers, as on the command line.

    Args:
        prefix_length: how much of a body is hashed, in `unit`.
        threshold: requests in flight from which on a replica is passed over.
        unit: bytes or characters, which is one call of the service or the other.
    """
    numbers = f"PrefixLength={prefix_length},ConcurrencyThreshold={threshold}"
    # The other call is the policy's own default.
    return f"sagemaker:{numbers}{'' if unit == 'bytes' else ',call=OpenAI'}"


def sweep(
    fleet: Fleet,
    sources: Sequence[Source],
    counter: Counter,
    unit: Unit,
    tell: Tell = lambda *_: None,
) -> Sweep:
    """Play recorded sessions with all lengths of a head, and all thresholds that count.

    Args:
        fleet: the sessions' workload, the servers, and how often.
        sources: the sessions themselves.
        counter: renders and encodes as the backend does.
        unit: what the router counts a head in.
        tell: is told before each pair.
    """
    tell("looking at the heads of the requests", 0, 1)
    looked = look(sources, counter, unit)
    thresholds = _thresholds(fleet, unit)
    pairs = [(length, threshold) for length in LENGTHS for threshold in thresholds]
    cells = []
    for number, (length, threshold) in enumerate(pairs):
        tell(f"PrefixLength {length:,}, ConcurrencyThreshold {threshold}", number, len(pairs))
        cells.append(Cell(length, threshold, outcome(fleet, spec(length, threshold, unit))))
    return Sweep(fleet, looked, tuple(cells), outcome(fleet, "random"), ceiling(fleet))


def _thresholds(fleet: Fleet, unit: Unit) -> tuple[int, ...]:
    """Powers of two up to the first that is never reached, whatever the length of the head."""
    most = 0
    for length in LENGTHS:
        watched = _Watched(spec(length, _MOST, unit))
        play(
            fleet.workload,
            fleet.server,
            watched,
            replicas=fleet.replicas,
            seed=fleet.seed,
            changes=fleet.changes,
            limit=fleet.limit,
        )
        most = max(most, watched.most)
    powers = [2**power for power in range(_MOST.bit_length())]
    return tuple(power for power in powers if power < 2 * most)


class _Watched(Policy):
    """Another policy, watched: how many requests a replica has at most."""

    def __init__(self, of: str) -> None:
        self._policy = policy(of)
        self.name = of
        self.most = 1

    def prepare(self, scale: Scale, seed: int) -> None:
        self._policy.prepare(scale, seed)

    def choose(self, request: Request, replicas: Sequence[Replica], now: float) -> Replica:
        chosen = self._policy.choose(request, replicas, now)
        self.most = max(self.most, chosen.outstanding + 1)
        return chosen

    def ended(self, request: Request, replica: Replica, now: float) -> None:
        self._policy.ended(request, replica, now)

    def left(self, replica: int) -> None:
        self._policy.left(replica)
