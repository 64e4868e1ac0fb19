"""What was found in a session → the switches that remove it at its source."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from cachediag.analysis.analyze import Analysed
from cachediag.findings import all_codes
from cachediag.fix.switches import Sender, Switch, recognised
from cachediag.model import Exchange, Finding

__all__ = ["Offer", "Offers", "Unanswered", "offers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A switch that removes what was found."""

    switch: Switch
    sender: Sender
    """Of the first request that it would have changed."""
    codes: tuple[str, ...]
    requests: int
    """How many requests showed a cause that it removes."""
    tokens: int
    """Tokens prefilled again because of these codes, as the analysis blames them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A cause that no switch removes."""

    code: str
    requests: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What a session's clients can be told, and what cannot be helped that way."""

    senders: tuple[tuple[Sender, int], ...]
    """The known clients with the number of their requests."""
    unknown: tuple[tuple[str, int], ...]
    """User-agents of the others; an empty text where none was recorded."""
    offers: tuple[Offer, ...]
    """The switches, the one that answers most requests first."""
    open: tuple[Unanswered, ...]
    exact: bool
    """The tokens are counted exactly; else they are an estimate."""


def offers(requests: Iterable[Analysed], load: Callable[[int], Exchange]) -> Offers:
    """Find the switches for the causes of a session.

    Args:
        requests: as analysed; only what cost something is a cause.
        load: reads one exchange by its index.
    """
    collected = _Collected()
    for request in requests:
        if request.problem is None:
            collected.add(request, partial(_body, load, request.info.index))
    return collected.offers()


def _body(load: Callable[[int], Exchange], index: int) -> bytes:
    return load(index).request


class _Collected:
    def __init__(self) -> None:
        self.senders: Counter[Sender] = Counter()
        self.unknown: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.exact = True
        self.answered: dict[str, tuple[Switch, Sender, set[str], set[int]]] = {}
        self.left: defaultdict[tuple[str, str], set[int]] = defaultdict(set)

    def add(self, request: Analysed, body: Callable[[], bytes]) -> None:
        sender = recognised(request.info, body)
        if sender is None:
            self.unknown[request.info.headers.get("user-agent", "")] += 1
        else:
            self.senders[sender] += 1
        self.exact = self.exact and (request.exact or not request.prompt_tokens)
        for code, _, tokens in request.blamed:
            self.tokens[code] += tokens
        for finding in request.findings:
            if finding.severity != "info":
                self._answer(finding, request.info.index, sender, body)

    def _answer(
        self, finding: Finding, index: int, sender: Sender | None, body: Callable[[], bytes]
    ) -> None:
        known = sender.client.switches if sender else ()
        fitting = [switch for switch in known if switch.answers(finding, body)]
        version = sender.version if sender else None
        switch = next((each for each in fitting if each.is_in(version)), None)
        if switch is None or sender is None:
            reason = _reason(sender, fitting)
            self.left[finding.code, reason].add(index)
            return
        _, _, codes, indexes = self.answered.setdefault(switch.name, (switch, sender, set(), set()))
        codes.add(finding.code)
        indexes.add(index)

    def offers(self) -> Offers:
        made = [
            Offer(
                switch=switch,
                sender=sender,
                codes=tuple(sorted(codes, key=all_codes().index)),
                requests=len(indexes),
                tokens=sum(self.tokens[code] for code in codes),
            )
            for switch, sender, codes, indexes in self.answered.values()
        ]
        left = [
            Unanswered(code=code, requests=len(indexes), reason=reason)
            for (code, reason), indexes in self.left.items()
        ]
        return Offers(
            senders=tuple(self.senders.most_common()),
            unknown=tuple(self.unknown.most_common()),
            offers=tuple(sorted(made, key=lambda offer: -offer.requests)),
            open=tuple(sorted(left, key=lambda each: -each.requests)),
            exact=self.exact,
        )


def _reason(sender: Sender | None, fitting: list[Switch]) -> str:
    if sender is None:
        return "the switches of this client are not known"
    if fitting:
        return f"{fitting[0].name} needs {sender.client.name} {fitting[0].since} or newer"
    return f"no switch of {sender.client.name} is known for this"
