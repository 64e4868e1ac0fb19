"""What the session would have cost without its causes, or with another cache."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median

from cachediag.analysis.analyze import Analysis, analyse, summarise
from cachediag.analysis.choice import Choice
from cachediag.analysis.requests import Walk
from cachediag.compare import compare
from cachediag.compare.undo import undone_body
from cachediag.errors import InputError
from cachediag.findings import load
from cachediag.model import Exchange, Prompt

__all__ = ["Arm", "removable", "what_if", "without_causes"]

_SLOTS = "conversation-slots:slots={}"


@dataclass(frozen=True, slots=True)
class Arm:
    """One row: the session played once more."""

    name: str
    hit_rate: float
    warm_turn: float
    """Tokens to prefill in a request that goes on from an earlier one; the median."""


def removable(code: str) -> bool:
    """Whether a rule can take the cause out of a request."""
    return load(code).rule


def what_if(
    exchanges: Iterable[Exchange],
    load: Callable[[int], Exchange],
    recorded: Analysis,
    choice: Choice,
) -> tuple[Arm, ...]:
    """Play the session as recorded, without its causes, with a cache, and with both.

    Args:
        exchanges: the session's exchanges in order.
        load: reads one exchange again by its index.
        recorded: the session as it was analysed.
        choice: what it was analysed by.
    """
    sent = list(exchanges)
    clean = list(without_causes(sent, load, choice))
    rows = [_arm("as recorded", recorded)]
    if any(x.request is not y.request for x, y in zip(sent, clean, strict=True)):
        rows.append(_arm("causes removed", _played(clean, choice.anew())))
    if choice.is_hosted:
        return tuple(rows)
    for slots in (1, 4):
        kept = f"{slots} slot" + ("s" if slots > 1 else "")
        for told, played in (("as recorded", sent), ("causes removed", clean)):
            cache = choice.anew(_SLOTS.format(slots))
            rows.append(_arm(f"{kept}, {told}", _played(played, cache)))
    return tuple(rows)


def _played(exchanges: list[Exchange], choice: Choice) -> Analysis:
    by_index = {each.info.index: each for each in exchanges}
    return summarise(analyse(exchanges, by_index.__getitem__, choice), choice)


def _arm(name: str, made: Analysis) -> Arm:
    warm = [
        request.prompt_tokens - request.reused_tokens
        for request in made.requests
        if request.prompt_tokens and not any(f.code == "N03" for f in request.findings)
    ]
    return Arm(name, made.hit_rate, median(warm) if warm else 0.0)


def without_causes(
    exchanges: Iterable[Exchange], load: Callable[[int], Exchange], choice: Choice
) -> Iterator[Exchange]:
    """The exchanges as they would be with every removable cause gone from the start.

    Each request is held against its parent as that would have been, so that a value that rotates
    stays what it was when it was first seen.
    """
    counter = choice.counter
    walk = Walk(load, counter.profile, counter.parser)
    clean: dict[int, Prompt] = {}
    for exchange in exchanges:
        if exchange.info.endpoint == "other":
            yield exchange
            continue
        request = walk.step(exchange)
        if request.prompt is None:
            yield exchange
            continue
        clean[exchange.info.index] = request.prompt
        if request.comparison is None or request.parent not in clean:
            yield exchange
            continue
        first = any(finding.code == "N03" for finding in request.findings)
        held = compare(clean[request.parent], request.prompt, counter.profile, one_talk=not first)
        undone = {(f.code, f.path) for f in held.breaks if removable(f.code)}
        if not undone or exchange.info.endpoint == "responses":
            yield exchange
            continue
        body = undone_body(held, undone)
        try:
            clean[exchange.info.index] = counter.parser.parse(body, exchange.info.endpoint)
        except InputError:
            yield exchange
            continue
        yield replace(exchange, request=body)
