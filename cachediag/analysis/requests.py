"""A session's exchanges → requests with lane, parent and what changed since the parent."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from cachediag.analysis.lanes import Kind, Lanes, Place
from cachediag.analysis.traits import Traits, traits
from cachediag.compare import Comparison, compare
from cachediag.compare.wording import message_of
from cachediag.errors import InputError
from cachediag.model import Exchange, ExchangeInfo, Finding, Prompt
from cachediag.protocol import Parser
from cachediag.render import Profile, default_profile

__all__ = ["Request", "Walk", "requests"]

# A parent is nearly always the lane's latest request, and lanes are few.
_KEPT = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of a session, placed and compared."""

    info: ExchangeInfo
    lane: str
    kind: Kind
    parent: int | None
    latest: int | None
    prompt: Prompt | None
    """None where the body could not be read, as `problem` says, and where it was let go."""
    comparison: Comparison | None = None
    """With the parent; None where there is none, or where it is another agent's request."""
    against_latest: Comparison | None = None
    """With the lane's latest request, where that is not the parent, was gone on from, and shows
    a break that the parent does not."""
    findings: tuple[Finding, ...] = ()
    from_latest: tuple[Finding, ...] = ()
    """Those of the findings that only the lane's latest request shows."""
    blocks: int | None = None
    """Blocks of the prompt."""
    shared_blocks: int | None = None
    """Blocks shared with the parent; None where there was no comparison."""
    problem: str | None = None

    def light(self) -> "Request":
        """The same without prompt and comparisons, which hold whole bodies."""
        return replace(self, prompt=None, comparison=None, against_latest=None)

    @property
    def breaks(self) -> tuple[Finding, ...]:
        """What ended the prefix that this request shares with earlier ones."""
        return tuple(finding for finding in self.findings if finding.severity == "break")


def requests(
    exchanges: Iterable[Exchange],
    load: Callable[[int], Exchange],
    profile: Profile | None = None,
) -> Iterator[Request]:
    """Place and compare the requests of a session, one by one as they come.

    Exchanges of other endpoints carry no prompt and are passed over.

    Args:
        exchanges: the session's exchanges in order, or as they are recorded.
        load: reads one exchange again by its index.
        profile: the backend whose order counts; by default each protocol's own.
    """
    walk = Walk(load, profile)
    for exchange in exchanges:
        if exchange.info.endpoint != "other":
            yield walk.step(exchange)


class Walk:
    """A way through a session: remembers the traits of all requests, the prompts of the last."""

    def __init__(
        self,
        load: Callable[[int], Exchange],
        profile: Profile | None = None,
        parser: Parser | None = None,
    ) -> None:
        self._load = load
        self._profile = profile
        self._parser = parser or Parser()
        self._lanes = Lanes()
        self._traits: dict[int, Traits] = {}
        self._prompts: OrderedDict[int, Prompt] = OrderedDict()

    def step(self, exchange: Exchange) -> Request:
        """Place the next exchange, which carries a prompt, and compare it."""
        info = exchange.info
        try:
            prompt = self._parser.parse(exchange.request, info.endpoint)
        except InputError as error:
            return Request(
                info=info,
                lane="?",
                kind="turn",
                parent=None,
                latest=None,
                prompt=None,
                problem=str(error),
            )
        arranged = (self._profile or default_profile(info.endpoint)).arrange(prompt)
        own = traits(info, arranged)
        place = self._lanes.add(info.index, own)
        request = self._compared(info, prompt, place, own)
        self._traits[info.index] = own
        self._prompts[info.index] = prompt
        if len(self._prompts) > _KEPT:
            self._prompts.popitem(last=False)
        return request

    def _prompt(self, index: int) -> Prompt:
        if index in self._prompts:
            self._prompts.move_to_end(index)
            return self._prompts[index]
        exchange = self._load(index)
        return self._parser.parse(exchange.request, exchange.info.endpoint)

    def _compared(self, info: ExchangeInfo, prompt: Prompt, place: Place, own: Traits) -> Request:
        comparison = against_latest = None
        if place.parent is not None and _comparable(own, self._traits[place.parent]):
            earlier = self._prompt(place.parent)
            comparison = compare(earlier, prompt, self._profile, one_talk=not place.is_first)
        if place.latest is not None and self._hides_a_break(place, own):
            held = compare(self._prompt(place.latest), prompt, self._profile)
            against_latest = held if held.breaks else None
        findings = _findings(place, comparison)
        seen = {(finding.code, finding.path) for finding in findings}
        from_latest = tuple(
            finding
            for finding in (against_latest.breaks if against_latest else ())
            if (finding.code, finding.path) not in seen
        )
        return Request(
            info=info,
            lane=place.lane,
            kind=place.kind,
            parent=place.parent,
            latest=place.latest,
            prompt=prompt,
            comparison=comparison,
            against_latest=against_latest,
            findings=(*from_latest, *findings),
            from_latest=from_latest,
            blocks=prompt.block_count,
            shared_blocks=comparison.shared_blocks if comparison else None,
        )

    def _hides_a_break(self, place: Place, own: Traits) -> bool:
        """Whether an older parent was found though the lane had gone on since.

        A twin's turns are not this request's: only a request whose newest block is part of this
        one's history was gone on from.
        """
        if place.latest is None or place.latest == place.parent:
            return False
        return own.goes_on_from(self._traits[place.latest])


def _comparable(own: Traits, other: Traits) -> bool:
    # Another agent's tools and system prompt are its own: that they differ is no fault.
    return own.same_agent(other) or own.goes_on_from(other)


def _findings(place: Place, comparison: Comparison | None) -> tuple[Finding, ...]:
    found = comparison.findings if comparison else ()
    if not place.is_first:
        return found
    # What was said in another conversation is not this one's past.
    own = (finding for finding in found if finding.code not in ("N01", "N02", "M01"))
    return (*own, Finding(code="N03", severity="info", message=message_of("N03")))
