"""Which requests of a session are sent again, as they were recorded and as rules make them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cachediag.analysis.analysed import Analysed
from cachediag.analysis.analyze import analyse
from cachediag.analysis.choice import Choice
from cachediag.analysis.summary import summarise
from cachediag.errors import UsageError
from cachediag.fix.offline import applied
from cachediag.fix.tally import Tally
from cachediag.model import PROMPT_ENDPOINTS, Exchange, ExchangeInfo
from cachediag.rules.rule import Rule
from cachediag.session import Source
from cachediag.verify.arms import Arm

__all__ = ["Bill", "Plan", "Planned", "Tell", "plan", "timeless"]

Tell = Callable[[str], None]

# A prompt of which a cache could have kept so much takes a warm turn.
_WARM = 0.5


@dataclass(frozen=True, slots=True)
class Planned:
    """One recorded request, as it is to be sent."""

    exchange: Exchange
    """The recorded request, or what rules make of it; nothing of the response."""
    lane: str
    is_turn: bool
    """It is no auxiliary request, such as one for a title, among others that are none."""
    warm: bool
    """A cache could have kept at least half of its prompt, with every cause of a miss removed."""
    prompt_tokens: int
    predicted: int
    """Tokens that the engine would reuse, from an empty cache on and without the patch."""

    @property
    def index(self) -> int:
        """The request's number in the session."""
        return self.exchange.info.index


@dataclass(frozen=True, slots=True)
class Bill:
    """What sending the requests once costs at a hosted API."""

    usd: float | None
    """Dollars; None where no price is known."""
    as_of: str | None
    """The month of the price, such as `2026-10`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent, the same requests in each arm."""

    recorded: tuple[Planned, ...]
    changed: tuple[Planned, ...] | None
    """With the rules applied; None where there are none."""
    exact: bool
    """Every count is exact."""
    bills: tuple[Bill, ...]
    """For the requests as recorded, and with the rules."""

    def requests(self, arm: Arm) -> tuple[Planned, ...]:
        """What an arm sends."""
        return self.changed or () if arm.rules else self.recorded

    def price(self, arms: Iterable[Arm], repeats: int) -> Bill:
        """What an experiment costs, as far as prices are known.

        Args:
            arms: those that are run.
            repeats: how often each.
        """
        bills = [self.bills[arm.rules] for arm in arms]
        known = [bill.usd for bill in bills if bill.usd is not None]
        months = [bill.as_of for bill in bills if bill.as_of is not None]
        return Bill(sum(known) * repeats if known else None, min(months, default=None))


def plan(
    opened: Source,
    rules: Sequence[Rule],
    choice: Choice,
    tell: Tell,
    *,
    lane: str | None = None,
    most: int | None = None,
) -> Plan:
    """Choose the requests that are sent, and count them.

    Args:
        opened: the session, its requests as the client sent them.
        rules: the rules that are applied in the arms that have them; may be none.
        choice: what to count and predict by.
        tell: told, a line each, of requests that are left out.
        lane: send the requests of one lane alone.
        most: send no more than the first so many.

    Raises:
        UsageError: nothing is left to send.
    """
    asks = [timeless(each) for each in opened.exchanges() if each.info.endpoint in PROMPT_ENDPOINTS]
    found = _analysed(asks, choice)
    for each in found:
        if each.problem is not None:
            tell(f"request {each.info.index} is left out: {each.problem}")
    good = [each for each in found if each.problem is None]
    chosen = [each for each in good if lane in (None, each.lane)][:most]
    if not chosen:
        lanes = ", ".join(dict.fromkeys(each.lane for each in good))
        raise UsageError(
            "no request to send" if lane is None else f"no request of a lane {lane!r}",
            where=opened.name,
            remedy=f"Its lanes: {lanes}." if lanes else "Give a session that calls a model.",
        )
    wanted = {each.info.index: each for each in chosen}
    sets = [[each for each in asks if each.info.index in wanted]]
    if rules:
        made = applied(opened, rules, Tally(), tell)
        sets.append([timeless(each) for each in made if each.info.index in wanted])
    counted = [_analysed(each, choice) for each in sets]
    for number, each in enumerate(counted[-1]):
        if each.problem is not None:
            raise UsageError(
                f"the rules make a request that cannot be read: {each.problem}",
                where=f"request {counted[0][number].info.index} of {opened.name}",
                remedy="Try them first: cachediag rules check",
            )
    warm = [_is_warm(each) for each in zip(*counted, strict=True)]
    rows = [
        tuple(_planned(exchanges, figures, warm, wanted))
        for exchanges, figures in zip(sets, counted, strict=True)
    ]
    return Plan(
        recorded=rows[0],
        changed=rows[1] if rules else None,
        exact=all(each.exact for figures in counted for each in figures),
        bills=tuple(_bill(figures, choice) for figures in counted),
    )


def timeless(exchange: Exchange, body: bytes | None = None) -> Exchange:
    """The request of an exchange, without its response and its times.

    Args:
        exchange: as recorded.
        body: another body.
    """
    info = exchange.info
    kept = ExchangeInfo(
        index=info.index,
        endpoint=info.endpoint,
        method=info.method,
        path=info.path,
        model=info.model,
        headers=info.headers,
    )
    return Exchange(kept, exchange.request if body is None else body)


def _analysed(exchanges: Sequence[Exchange], choice: Choice) -> list[Analysed]:
    by_index = {each.info.index: each for each in exchanges}
    return list(analyse(exchanges, by_index.__getitem__, choice.anew()))


def _is_warm(variants: Iterable[Analysed]) -> bool:
    return any(_keepable(each) >= _WARM * each.prompt_tokens for each in variants)


def _keepable(request: Analysed) -> int:
    """Tokens that a cache could have kept.

    What another conversation says otherwise is no cause that could be removed.
    """
    if any(found.code == "N03" for found in request.findings):
        return request.shared_tokens
    return max(request.shared_tokens, request.reused_tokens + request.avoidable_tokens)


def _planned(
    exchanges: Sequence[Exchange],
    figures: Sequence[Analysed],
    warm: Sequence[bool],
    placed: Mapping[int, Analysed],
) -> Iterator[Planned]:
    kinds = {each.kind for each in placed.values()}
    for exchange, counted, is_warm in zip(exchanges, figures, warm, strict=True):
        own = placed[exchange.info.index]
        yield Planned(
            exchange=replace(exchange, outgoing=None),
            lane=own.lane,
            is_turn=own.kind != "auxiliary" or kinds == {"auxiliary"},
            warm=is_warm,
            prompt_tokens=counted.prompt_tokens,
            predicted=counted.reused_tokens,
        )


def _bill(figures: Sequence[Analysed], choice: Choice) -> Bill:
    whole = summarise(figures, choice)
    return Bill(whole.usd, whole.prices_as_of)
