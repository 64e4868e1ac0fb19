"""A session → its causes, each with its place, its requests and all the texts seen there."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cachediag.analysis.analyze import analyse
from cachediag.analysis.choice import Choice
from cachediag.analysis.requests import Request, Walk
from cachediag.compare import Comparison
from cachediag.compare.comparison import Entry
from cachediag.compare.places import leaf_path
from cachediag.errors import CachediagError
from cachediag.model import Block, Exchange
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import named
from cachediag.rules.engine.places import places
from cachediag.rules.engine.texts import is_text, text_at
from cachediag.rules.making.family import Family, family
from cachediag.rules.protocols import protocol_of
from cachediag.session.source import Source

__all__ = ["Found", "Saved", "Spot", "beside", "collect", "compared", "saved", "texts_at"]

_TOOL = re.compile(r"(tools)\[\d+\]")
# More versions of one text teach nothing new.
_MOST_TEXTS = 60


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in the requests of a protocol, as a rule names it."""

    protocol: str
    path: str
    """Tools by name: `tools[name=Bash].description`."""
    role: str = ""
    """Who says what stands there; `tools` for a tool, empty where it is no part of the prompt."""
    kind: str = ""
    """The kind of block that it stands in."""

    @property
    def is_tool(self) -> bool:
        """It belongs to a tool's definition."""
        return self.role == "tools"

    @property
    def is_system(self) -> bool:
        """It is said by the client to the model."""
        return self.role in ("system", "developer")

    @property
    def is_user_text(self) -> bool:
        """It is a text in a message of the user."""
        return self.role == "user" and self.kind == "text"


@dataclass(frozen=True, slots=True)
class Found:
    """One cause at one place, with all that the session shows there."""

    code: str
    spot: Spot
    requests: tuple[int, ...]
    """The requests that show it."""
    families: tuple[Family, ...] = ()
    """The texts that it changed, versions of one text together, as they were sent; among them those
    that other causes made of the same text."""
    tokens_lost: int = 0
    exact: bool = False
    """The tokens were counted by the model's own tokenizer and template."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What the causes of a session cost."""

    tokens: Mapping[tuple[int, str, str | None], int] = field(default_factory=dict)
    """Tokens by request, code and path in that request's body."""
    exact: bool = False


def saved(source: Source, choice: Choice) -> Saved:
    """Count what each cause costs in each request.

    Args:
        source: the session.
        choice: what to count and to play by; its cache model is used up.
    """
    tokens: defaultdict[tuple[int, str, str | None], int] = defaultdict(int)
    exact = True
    for each in analyse(source.exchanges(), source.exchange, choice):
        exact = exact and (each.exact or not each.prompt_tokens)
        for code, path, lost in each.blamed:
            tokens[each.info.index, code, path] += lost
    return Saved(dict(tokens), exact)


@dataclass(slots=True)
class _Seen:
    """A cause, while the session is read."""

    requests: dict[int, None] = field(default_factory=dict)
    links: list[tuple[str, str]] = field(default_factory=list)
    """Each text that changed, and what it became."""
    tokens: int = 0


def compared(source: Source, choice: Choice) -> Iterator[Request]:
    """The session's requests that rules can apply to, each held against the earlier ones.

    Args:
        source: the session.
        choice: what it is counted by; its profile says what breaks a prefix.
    """
    walk = Walk(source.exchange, choice.counter.profile, choice.counter.parser)
    for exchange in source.exchanges():
        if protocol_of(exchange.info.endpoint, exchange.info.path) is not None:
            yield walk.step(exchange)


def collect(requests: Iterable[Request], costs: Saved) -> tuple[Found, ...]:
    """Put the causes of a session together, the costliest first.

    Args:
        requests: the session's requests with their comparisons.
        costs: what the causes cost, where it was counted.
    """
    seen: dict[tuple[str, Spot], _Seen] = {}
    for request in requests:
        told: set[tuple[str, str | None]] = set()
        for held in (request.comparison, request.against_latest):
            if held is not None:
                told |= _add(seen, request, held, costs, told)
    links: defaultdict[Spot, list[tuple[str, str]]] = defaultdict(list)
    for (_, spot), each in seen.items():
        links[spot] += each.links
    families = {spot: _families(each) for spot, each in links.items()}
    found = [
        Found(
            code=code,
            spot=spot,
            requests=tuple(each.requests),
            families=tuple(own for own in families[spot] if _shows(own, code)),
            tokens_lost=each.tokens,
            exact=costs.exact,
        )
        for (code, spot), each in seen.items()
    ]
    return tuple(sorted(found, key=lambda each: -each.tokens_lost))


def beside(costs: Saved, found: Sequence[Found]) -> tuple[Found, ...]:
    """What costs tokens besides the breaks: replies that come back changed, the engine's policy.

    Args:
        costs: what the causes cost.
        found: the breaks.
    """
    known = {each.code for each in found}
    seen: defaultdict[tuple[str, str | None], dict[int, int]] = defaultdict(dict)
    for (index, code, path), tokens in costs.tokens.items():
        if code not in known and code[0].isalpha():
            seen[code, path][index] = tokens
    return tuple(
        Found(code, Spot("", path or ""), tuple(rows), (), sum(rows.values()), costs.exact)
        for (code, path), rows in seen.items()
    )


def _shows(own: Family, code: str) -> bool:
    return any(code in slot.codes for slot in own.slots)


def _add(
    seen: dict[tuple[str, Spot], _Seen],
    request: Request,
    held: Comparison,
    costs: Saved,
    told: Collection[tuple[str, str | None]],
) -> set[tuple[str, str | None]]:
    protocol = protocol_of(request.info.endpoint, request.info.path) or ""
    known = {(finding.code, finding.path) for finding in request.breaks}
    breaks = [(f.code, f.path) for f in held.breaks if (f.code, f.path) in known]
    for cause in breaks:
        spots = set()
        for spot, link in _places(held, cause, protocol):
            each = seen.setdefault((cause[0], spot), _Seen())
            each.requests[request.info.index] = None
            each.links += [link] if link else []
            spots.add(spot)
        if cause not in told and spots:
            # A cause has one place; blocks that came or went together are told at the first.
            each = seen[cause[0], min(spots)]
            each.tokens += costs.tokens.get((request.info.index, *cause), 0)
    return set(breaks)


def _places(
    held: Comparison, cause: tuple[str, str | None], protocol: str
) -> Iterator[tuple[Spot, tuple[str, str] | None]]:
    """Where a pair shows a cause, and the texts that changed there."""
    changed = [
        (entry, entry.b, change)
        for entry in held.entries
        for change in entry.changes
        if change.cause == cause and entry.b is not None
    ]
    for entry, block, change in changed:
        spot = Spot(protocol, _named_path(change.path, block), block.role, block.kind)
        yield spot, _link(held, entry, change.keys) if change.is_text else None
    if not changed:
        # Blocks that came, went or changed places: who says them plays no part.
        yield Spot(protocol, cause[1] or ""), None


def _named_path(path: str, block: Block) -> str:
    """A path with a tool by its name, where it has one that a rule can say."""
    if block.section != "tools":
        return path
    name = named(jsontext.decode(block.canonical)).get("name")
    if not isinstance(name, str) or not name or "]" in name:
        return path
    return _TOOL.sub(lambda match: f"{match[1]}[name={name}]", path, count=1)


def _link(held: Comparison, entry: Entry, keys: tuple[str | int, ...]) -> tuple[str, str] | None:
    """The two texts as they were sent, whatever the profile makes of them."""
    assert entry.a is not None
    assert entry.b is not None
    before = _text(held.a.body, leaf_path(held.a.body, entry.a, keys))
    after = _text(held.b.body, leaf_path(held.b.body, entry.b, keys))
    return None if before is None or after is None or before == after else (before, after)


def _text(body: bytes, path: str) -> str | None:
    try:
        found = [place for place in places(body, path) if is_text(body, place)]
    except (CachediagError, ValueError):
        # A body that is no JSON, or a key that rules have no way to name.
        return None
    return text_at(body, found[0]) if len(found) == 1 else None


def _families(links: Sequence[tuple[str, str]]) -> tuple[Family, ...]:
    """Texts that became one another, put together and aligned."""
    groups: list[dict[str, None]] = []
    for link in links:
        own = dict.fromkeys(link)
        meeting = [group for group in groups if group.keys() & own.keys()]
        groups = [group for group in groups if not any(group is other for other in meeting)]
        groups.append({text: None for group in (*meeting, own) for text in group})
    return tuple(family(_some(list(group))) for group in groups)


def _some(texts: list[str]) -> list[str]:
    if len(texts) <= _MOST_TEXTS:
        return texts
    step = (len(texts) - 1) / (_MOST_TEXTS - 1)
    return [texts[round(number * step)] for number in range(_MOST_TEXTS)]


def texts_at(
    exchanges: Iterable[Exchange], spots: Collection[Spot]
) -> dict[Spot, dict[str, list[int]]]:
    """Every text that stands at some places, with the requests that it stands in.

    Args:
        exchanges: the session's exchanges.
        spots: the places.
    """
    found: dict[Spot, dict[str, list[int]]] = {spot: {} for spot in spots}
    for exchange in exchanges:
        protocol = protocol_of(exchange.info.endpoint, exchange.info.path)
        for spot in spots:
            if spot.protocol == protocol:
                text = _text(exchange.request, spot.path)
                if text is not None:
                    found[spot].setdefault(text, []).append(exchange.info.index)
    return found
