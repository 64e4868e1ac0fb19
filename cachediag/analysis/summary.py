"""A session in tokens as a whole: its causes ranked, what they cost in time and in money."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from cachediag.analysis.analysed import Analysed
from cachediag.analysis.calibration import Calibration
from cachediag.analysis.choice import Choice
from cachediag.analysis.engines import Served, price
from cachediag.analysis.engines.hosted import money
from cachediag.analysis.rates import share

__all__ = ["Analysis", "CauseCost", "general_path", "summarise"]

# A rate that is taken from fewer tokens measures the start of the request, not the prefill.
_LEAST_PREFILL = 512
# No machine prefills faster: the answer was there before the prompt, as a scripted server's is.
_FASTEST = 100_000
_NUMBER = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class CauseCost:
    """One cause over the session."""

    code: str
    path: str | None
    """Where it stands; `messages[*].content` where it stands in several messages."""
    requests: int
    tokens_lost: int
    usd: float | None = None
    """What its tokens cost more than read from the cache, as far as prices are known."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request's prompt is charged, in dollars."""

    usd: float
    avoidable_usd: float
    """How much less that would be with the avoidable tokens read from the cache."""
    as_of: str
    """The month of the price, `2026-10`."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """A whole session."""

    profile: str
    model: str
    engine: str
    requests: tuple[Analysed, ...]
    causes: tuple[CauseCost, ...]
    """The costliest first."""
    prefill_rate: float | None
    """Tokens a second, measured or given; None where nothing tells."""
    costs: Mapping[int, Cost] = field(default_factory=dict)
    """What requests cost, by their numbers; those of engines of one's own, and of models whose
    price is not known, are not among them."""
    calibrated_usages: int = 0
    """How many reported usages the counts were calibrated on."""
    token_factors: Mapping[str, float] = field(default_factory=dict)
    """For each lane, what the tokenizer's count was multiplied by."""

    @property
    def prompt_tokens(self) -> int:
        """All tokens of all prompts."""
        return sum(request.prompt_tokens for request in self.requests)

    @property
    def reused_tokens(self) -> int:
        """Of these, what the engine reused."""
        return sum(request.reused_tokens for request in self.requests)

    @property
    def avoidable_tokens(self) -> int:
        """Of these, what was prefilled again though its cause could be removed."""
        return sum(request.avoidable_tokens for request in self.requests)

    @property
    def exact(self) -> bool:
        """Every count is exact."""
        return all(request.exact for request in self.requests if request.prompt_tokens)

    @property
    def hit_rate(self) -> float:
        """The share of prompt tokens that was reused."""
        return share(self.reused_tokens, self.prompt_tokens)

    @property
    def hit_rate_ceiling(self) -> float:
        """The share that would be reused with every cause removed."""
        return share(self.reused_tokens + self.avoidable_tokens, self.prompt_tokens)

    @property
    def usd(self) -> float | None:
        """Dollars for the prompts whose price is known; None where none is."""
        return sum(cost.usd for cost in self.costs.values()) if self.costs else None

    @property
    def avoidable_usd(self) -> float | None:
        """How much less these would cost with the avoidable tokens read from the cache."""
        return sum(cost.avoidable_usd for cost in self.costs.values()) if self.costs else None

    @property
    def prices_as_of(self) -> str | None:
        """The month of the oldest price."""
        return min((cost.as_of for cost in self.costs.values()), default=None)


def summarise(
    requests: Iterable[Analysed],
    choice: Choice,
    prefill_rate: float | None = None,
    lane: str | None = None,
) -> Analysis:
    """Put the requests of a session together, its causes ranked.

    Estimated counts are set right by the usage that the responses report.

    Args:
        requests: as `analyse` gives them.
        choice: what they were analysed by.
        prefill_rate: tokens a second; by default measured from the recorded times to first token.
        lane: look at its requests alone; rate and calibration are taken from all.
    """
    counted = tuple(requests)
    calibration = Calibration(choice.counter.encoder.tokenizer)
    for each in counted:
        calibration.add(each.lane, each.info, each.prompt_tokens)
    factors = {
        each.lane: calibration.factor(each.lane, each.info.model)
        for each in counted
        if each.prompt_tokens
    }
    scaled = tuple(each.scaled(calibration.factor(each.lane, each.info.model)) for each in counted)
    rate = prefill_rate or _measured_rate(scaled)
    found = tuple(each for each in scaled if lane in (None, each.lane))
    costs = {each.info.index: cost for each in found if (cost := _cost(each, choice)) is not None}
    return Analysis(
        profile=choice.counter.profile.name,
        model=choice.model,
        engine=choice.engine.name,
        requests=found,
        causes=_ranked(found, costs),
        prefill_rate=rate,
        costs=costs,
        calibrated_usages=calibration.usages,
        token_factors=factors,
    )


def _cost(request: Analysed, choice: Choice) -> Cost | None:
    tokens, avoidable = request.prompt_tokens, request.avoidable_tokens
    if not tokens or not choice.is_hosted:
        return None
    paid = price(choice.engine_name, request.info.model, tokens)
    if paid is None:
        return None
    created, created_1h = request.created_tokens, request.created_1h_tokens
    served = Served(request.reused_tokens, created, created_1h)
    could = Served(
        request.reused_tokens + avoidable,
        max(0, created - avoidable),
        max(0, created_1h - avoidable),
    )
    usd = money(tokens, served, paid)
    return Cost(usd, usd - money(tokens, could, paid), paid.as_of)


def _ranked(requests: Iterable[Analysed], costs: Mapping[int, Cost]) -> tuple[CauseCost, ...]:
    causes: defaultdict[tuple[str, str | None], list[CauseCost]] = defaultdict(list)
    for request in requests:
        cost = costs.get(request.info.index)
        for code, path, tokens in request.blamed:
            part = tokens / request.avoidable_tokens
            usd = cost.avoidable_usd * part if cost else None
            causes[code, general_path(path)].append(CauseCost(code, path, 1, tokens, usd))
    rows = [_together(path, rows) for (_, path), rows in causes.items()]
    return tuple(sorted(rows, key=lambda row: -row.tokens_lost))


def general_path(path: str | None) -> str | None:
    """A path that is the same in every message: the talk grows, and a cause moves on with it."""
    if path is None or not path.startswith(("messages[", "input[")):
        return path
    return _NUMBER.sub("[*]", path)


def _together(path: str | None, rows: Sequence[CauseCost]) -> CauseCost:
    """One row of those of a cause; the path is the general one, which several share."""
    paths = {row.path for row in rows}
    paid = [row.usd for row in rows if row.usd is not None]
    return CauseCost(
        code=rows[0].code,
        path=path if len(paths) > 1 else rows[0].path,
        requests=len(rows),
        tokens_lost=sum(row.tokens_lost for row in rows),
        usd=sum(paid) if paid else None,
    )


def _measured_rate(requests: Sequence[Analysed]) -> float | None:
    rates = []
    for request in requests:
        first, started = request.info.first_token, request.info.started
        prefilled = request.prompt_tokens - request.reused_tokens
        if first is not None and started is not None and prefilled >= _LEAST_PREFILL:
            rate = prefilled / max(first - started, 1e-3)
            if rate <= _FASTEST:
                rates.append(rate)
    return median(rates) if rates else None
