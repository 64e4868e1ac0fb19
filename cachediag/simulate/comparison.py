"""Several policies over one workload, and what a server that keeps everything would reuse."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cachediag.simulate.figures import Figures, summarise
from cachediag.simulate.loop import play
from cachediag.simulate.model import Change, Run, Server, Workload
from cachediag.simulate.policies import policy

__all__ = ["SEEDS", "Compared", "Fleet", "Outcome", "Tell", "ceiling", "compare", "outcome"]

# So fast that a request has ended before the next one comes.
_AT_ONCE = 1e15

SEEDS = range(2**63)
"""What the seed of a first run may be: it salts hashes, which take so many bytes and no sign."""

Tell = Callable[[str, int, int], None]
"""Is told what is played next, how many runs are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What a workload is played on, and how often."""

    workload: Workload
    server: Server
    replicas: int
    changes: tuple[Change, ...] = ()
    repeats: int = 5
    """Runs of each policy, with seeds that follow one another."""
    seed: int = 0
    """Of the first run."""
    limit: int | None = None
    """Requests that are played of the workload; None for all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one policy came to."""

    policy: str
    """As on the command line."""
    figures: Figures
    sample: Run
    """The run of the first seed."""
    p90s: tuple[float, ...]
    """The 90th percentile of the time to first token in each run."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What all policies came to, the same requests given to each."""

    fleet: Fleet
    outcomes: tuple[Outcome, ...]
    ceiling: Run
    """One server that answers at once and forgets nothing: what there is to reuse."""

    @property
    def best(self) -> Outcome:
        """The policy with the lowest mean time to first token at the 90th percentile."""
        return min(self.outcomes, key=lambda each: each.figures.ttft.p90.value)

    @property
    def equals(self) -> tuple[Outcome, ...]:
        """The policies that cannot be told from the best: their intervals overlap with its own.

        All others where there is one run of each, which has no interval.
        """
        best = self.best
        others = [each for each in self.outcomes if each is not best]
        if self.fleet.repeats == 1:
            return tuple(others)
        end = best.figures.ttft.p90.high
        return tuple(each for each in others if each.figures.ttft.p90.low <= end)


def compare(fleet: Fleet, policies: Sequence[str], tell: Tell = lambda *_: None) -> Compared:
    """Play a workload under each of some policies.

    Args:
        fleet: the workload, the servers, and how often.
        policies: as on the command line.
        tell: is told before each run.

    Raises:
        UsageError: there is no such policy, or it has no such parameter.
    """
    for spec in policies:
        policy(spec)
    total = len(policies) * fleet.repeats + 1
    tell("one server that keeps everything", 0, total)
    most = ceiling(fleet)
    outcomes = []
    for number, spec in enumerate(policies):
        done = 1 + number * fleet.repeats
        outcomes.append(outcome(fleet, spec, partial(_told, tell, spec, done, total)))
    return Compared(fleet, tuple(outcomes), most)


def _told(tell: Tell, spec: str, done: int, total: int, run: int) -> None:
    tell(spec, done + run, total)


def outcome(
    fleet: Fleet,
    spec: str,
    tell: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Play a workload under one policy, once for each seed.

    Args:
        fleet: the workload, the servers, and how often.
        spec: the policy, as on the command line.
        tell: is told the number of each run before it.
    """
    runs = []
    for number in range(fleet.repeats):
        tell(number)
        run = play(
            fleet.workload,
            fleet.server,
            policy(spec),
            replicas=fleet.replicas,
            seed=fleet.seed + number,
            changes=fleet.changes,
            limit=fleet.limit,
        )
        runs.append(run)
    p90s = tuple(summarise([run]).ttft.p90.value for run in runs)
    return Outcome(spec, summarise(runs), runs[0], p90s)


def ceiling(fleet: Fleet) -> Run:
    """One server that answers at once and forgets nothing, given the requests of the first seed."""
    server = replace(
        fleet.server,
        prefill_rate=_AT_ONCE,
        decode_rate=_AT_ONCE,
        batch_rate=_AT_ONCE,
        concurrency=1,
        capacity=None,
        # The tree of prefixes without a limit, where requests have tokens.
        engine=None if fleet.server.engine is None else "sglang",
    )
    alone = policy("round-robin")
    return play(fleet.workload, server, alone, replicas=1, seed=fleet.seed, limit=fleet.limit)
