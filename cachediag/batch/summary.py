"""Many sessions as a whole, put together one by one so that the memory does not grow with them."""

import heapq
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from cachediag.analysis.rates import share
from cachediag.analysis.summary import CauseCost, general_path
from cachediag.batch.model import Counted, Failed, Outcome

__all__ = ["WORST", "Basis", "Cause", "Summary", "Tally", "Totals", "Worst"]

WORST: Final = 20
"""How many of the sessions with the most avoidable tokens are kept."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What sessions were counted and played by."""

    profile: str
    model: str
    """The tokenizer."""
    engine: str
    sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reuse:
    requests: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    avoidable_tokens: int = 0

    @property
    def hit_rate(self) -> float:
        """The share of prompt tokens that was reused."""
        return share(self.reused_tokens, self.prompt_tokens)

    @property
    def hit_rate_ceiling(self) -> float:
        """The share that would be reused with every cause removed."""
        return share(self.reused_tokens + self.avoidable_tokens, self.prompt_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals(_Reuse):
    """Sums over all sessions that could be analysed."""

    sessions: int = 0
    uncounted: int = 0
    """Of the requests, how many carry a prompt that could not be counted."""
    body_bytes: int = 0
    exact: bool = True
    """Every count is exact."""
    avoidable_seconds: float | None = None
    """Of the sessions whose prefill rate is known; None where none is."""
    timed_sessions: int = 0
    usd: float | None = None
    """Of the requests whose price is known; None where none is."""
    avoidable_usd: float | None = None
    priced_requests: int = 0
    prices_as_of: str | None = None
    """The month of the oldest price."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause over all sessions."""

    code: str
    """`-` for what engines do not keep by their design."""
    path: str | None
    """`messages[*].content` where it stands in messages."""
    sessions: int
    requests: int
    tokens_lost: int
    usd: float | None
    """What its tokens cost more than read from the cache, as far as prices are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst(_Reuse):
    """One session, with the cause that costs it most."""

    label: str
    code: str | None
    """`-` as in `Cause`; None where nothing is avoidable."""
    path: str | None


@dataclass(frozen=True, slots=True)
class Summary:
    """Many sessions as a whole."""

    totals: Totals
    bases: tuple[Basis, ...]
    """Those of most sessions first."""
    causes: tuple[Cause, ...]
    """The costliest first; together all avoidable tokens."""
    worst: tuple[Worst, ...]
    """At most `WORST` sessions, the one with the most avoidable tokens first."""
    failed: tuple[Failed, ...]
    notes: int
    """How many sessions were not read whole."""


@dataclass(slots=True)
class Tally:
    """Adds outcomes up, in the order of the sessions."""

    _totals: Totals = field(default_factory=Totals)
    _bases: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _causes: dict[tuple[str, str | None], Cause] = field(default_factory=dict)
    _worst: list[tuple[int, int, Worst]] = field(default_factory=list)
    _failed: list[Failed] = field(default_factory=list)
    _notes: int = 0

    def add(self, outcome: Outcome) -> None:
        """Take the next session."""
        if isinstance(outcome, Failed):
            self._failed.append(outcome)
            return
        self._totals = _added(self._totals, outcome)
        self._bases[outcome.profile, outcome.model, outcome.engine] += 1
        self._notes += bool(outcome.notes)
        self._blame(outcome.causes)
        # Of equals the one that was named first stays.
        item = (outcome.avoidable_tokens, -self._totals.sessions, _worst(outcome))
        if len(self._worst) < WORST:
            heapq.heappush(self._worst, item)
        else:
            heapq.heappushpop(self._worst, item)

    def summary(self) -> Summary:
        """What was added up so far."""
        causes = sorted(self._causes.values(), key=lambda cause: -cause.tokens_lost)
        worst = sorted(self._worst, reverse=True)
        return Summary(
            totals=self._totals,
            bases=tuple(Basis(*basis, count) for basis, count in self._bases.most_common()),
            causes=tuple(causes),
            worst=tuple(each for _, _, each in worst),
            failed=tuple(self._failed),
            notes=self._notes,
        )

    def _blame(self, causes: tuple[CauseCost, ...]) -> None:
        seen: set[tuple[str, str | None]] = set()
        for cause in causes:
            key = (cause.code, general_path(cause.path))
            before = self._causes.get(key, Cause(*key, 0, 0, 0, None))
            self._causes[key] = Cause(
                *key,
                sessions=before.sessions + (key not in seen),
                requests=before.requests + cause.requests,
                tokens_lost=before.tokens_lost + cause.tokens_lost,
                usd=_sum(before.usd, cause.usd),
            )
            seen.add(key)


def _added(totals: Totals, new: Counted) -> Totals:
    months = [month for month in (totals.prices_as_of, new.prices_as_of) if month]
    return Totals(
        sessions=totals.sessions + 1,
        requests=totals.requests + new.requests,
        uncounted=totals.uncounted + new.uncounted,
        body_bytes=totals.body_bytes + new.body_bytes,
        prompt_tokens=totals.prompt_tokens + new.prompt_tokens,
        reused_tokens=totals.reused_tokens + new.reused_tokens,
        avoidable_tokens=totals.avoidable_tokens + new.avoidable_tokens,
        exact=totals.exact and new.exact,
        avoidable_seconds=_sum(totals.avoidable_seconds, new.avoidable_seconds),
        timed_sessions=totals.timed_sessions + (new.avoidable_seconds is not None),
        usd=_sum(totals.usd, new.usd),
        avoidable_usd=_sum(totals.avoidable_usd, new.avoidable_usd),
        priced_requests=totals.priced_requests + new.priced_requests,
        prices_as_of=min(months, default=None),
    )


def _worst(outcome: Counted) -> Worst:
    first = outcome.causes[0] if outcome.causes else None
    return Worst(
        label=outcome.label,
        requests=outcome.requests,
        prompt_tokens=outcome.prompt_tokens,
        reused_tokens=outcome.reused_tokens,
        avoidable_tokens=outcome.avoidable_tokens,
        code=first.code if first else None,
        path=first.path if first else None,
    )


def _sum(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else a + b
