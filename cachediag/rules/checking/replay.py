"""A session played under rules: as recorded, with all of them, with each alone, without each.

All these run side by side in one walk through the session. A request's bodies under the rules are
few, for most rules do not touch it, and each is parsed, rendered and encoded once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cachediag.analysis.calibration import Calibration
from cachediag.analysis.choice import Choice
from cachediag.analysis.engines.model import CacheModel, CacheRequest
from cachediag.analysis.engines.tree import PrefixTree
from cachediag.analysis.lanes import Lanes, Place
from cachediag.analysis.serving import cache_request
from cachediag.analysis.traits import traits
from cachediag.errors import InputError
from cachediag.model import Exchange, ExchangeInfo, Prompt
from cachediag.render.rendered import Rendered
from cachediag.rules.engine.applied import Applied
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.rule import Rule
from cachediag.tokens.sequence import TokenSequence

__all__ = ["Names", "Played", "Replay", "Replayed"]

Names = frozenset[str]
"""Ids of the rules that are applied together."""

_NONE: Names = frozenset()
# Where a text ends, its last token may be cut otherwise than where it goes on.
_SEAM = 2


@dataclass(frozen=True, slots=True)
class Played:
    """One request's prompt in one of the sessions, in tokens."""

    prompt: int
    shared: int
    """The longest prefix shared with any earlier request."""
    reused: tuple[int, ...]
    """What each cache reuses."""

    def gains(self, recorded: "Played") -> tuple[int, ...]:
        """Tokens that need not be prefilled again: by the shared prefix, then by each cache.

        A prompt that is merely shorter saves nothing again: what was taken out counts only where
        a longer prefix is found for it. Where a shorter one is found, tokens are lost.
        """
        own, other = (self.shared, *self.reused), (recorded.shared, *recorded.reused)
        shorter = recorded.prompt - self.prompt
        return tuple(
            x - y + shorter if x > y else min(0, x - y + shorter)
            for x, y in zip(own, other, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Replayed:
    """One request and what rules make of it."""

    info: ExchangeInfo
    place: Place
    sent: Prompt
    alone: Mapping[str, Applied]
    """For each rule that changes the request, what it makes of it alone."""
    together: Applied
    again: Applied
    """What the rules make of their own result: the same, if all is well."""
    played: Mapping[Names, Played]
    """By the rules that are applied; those of no rules as recorded."""
    whole: tuple[bool, bool] | None
    """Whether the prompt goes on from the end of its parent's, as recorded and with the rules;
    None where it has none, or is the first of its conversation."""
    exact: bool
    problem: str | None = None
    """Why the request cannot be rendered with the rules applied."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """One body in tokens."""

    prompt: Prompt
    rendered: Rendered
    asked: CacheRequest


@dataclass(slots=True)
class _Arm:
    """One of the sessions, and the caches that it is played to."""

    engines: Sequence[CacheModel]
    tree: PrefixTree = field(default_factory=PrefixTree)

    def play(self, asked: CacheRequest) -> Played:
        """Look a prompt up, and keep it."""
        _, shared = self.tree.visit(asked.tokens, asked.lane, 0, 0)
        known = replace(asked, shared=shared)
        reused = tuple(each.serve(known).reused for each in self.engines)
        return Played(len(asked.tokens), shared, reused)


class Replay:
    """A walk through a session under rules.

    Args:
        rules: those that are applied.
        choice: what to render and encode by.
        engines: the caches to play the sessions to, as `--engine` names them.
    """

    def __init__(self, rules: Sequence[Rule], choice: Choice, engines: Sequence[str]) -> None:
        self._rules = tuple(rules)
        self._choice = choice
        self._pins = Pins()
        self._lanes = Lanes()
        self.calibration = Calibration(choice.counter.encoder.tokenizer)
        self.engines = tuple(engines)
        self.all = frozenset(rule.id for rule in rules)
        full = {_NONE, self.all, *(self.all - {rule.id} for rule in rules)}
        single = {frozenset((rule.id,)) for rule in rules}
        self._arms = {
            names: _Arm([choice.anew(each).engine for each in engines]) for names in full | single
        }
        self._ends: dict[int, tuple[tuple[TokenSequence, int], ...]] = {}
        """Of each request, as recorded and with the rules: its tokens, and how many of them stand
        before what no later request repeats."""

    def step(self, exchange: Exchange) -> Replayed | None:
        """Play the next request; None where it calls no model.

        Raises:
            InputError: its body, as it was sent, cannot be read.
        """
        info, counter = exchange.info, self._choice.counter
        sent = counter.parser.parse(exchange.request, info.endpoint)
        place = self._lanes.add(info.index, traits(info, counter.profile.arrange(sent)))
        if place.kind == "count":
            return None
        alone = {rule.id: made for rule in self._rules if (made := self._apply(sent, rule)).changes}
        firing = frozenset(alone)
        bodies = self._bodies(sent, alone)
        together = bodies[firing]
        counted, problem = self._counted(exchange, place, bodies)
        played = {
            names: arm.play(counted[names & firing].asked) for names, arm in self._arms.items()
        }
        ends = counted[_NONE], counted[firing]
        return Replayed(
            info=info,
            place=place,
            sent=sent,
            alone=alone,
            together=together,
            again=self._again(sent, together),
            played=played,
            whole=self._whole(info.index, place, ends, together),
            exact=counter.is_exact(ends[0].rendered) and counter.is_exact(ends[1].rendered),
            problem=problem,
        )

    def _apply(self, sent: Prompt, *rules: Rule) -> Applied:
        return apply_rules(sent.body, sent.endpoint, rules, self._pins)

    def _bodies(self, sent: Prompt, alone: Mapping[str, Applied]) -> dict[Names, Applied]:
        """The request under each choice of the rules that change it."""
        bodies = {_NONE: Applied(sent.body)}
        bodies |= {frozenset((name,)): made for name, made in alone.items()}
        firing = frozenset(alone)
        for names in (firing, *self._arms):
            fired = names & firing
            if fired not in bodies:
                bodies[fired] = self._apply(sent, *(r for r in self._rules if r.id in fired))
        return bodies

    def _again(self, sent: Prompt, together: Applied) -> Applied:
        if not together.changes:
            return together
        return apply_rules(together.body, sent.endpoint, self._rules, self._pins)

    def _counted(
        self, exchange: Exchange, place: Place, bodies: Mapping[Names, Applied]
    ) -> tuple[dict[Names, _Counted], str | None]:
        generated = self._choice.generated(exchange)
        recorded = self._count(exchange.info, exchange.request, place.lane, generated)
        self.calibration.add(place.lane, exchange.info, len(recorded.asked.tokens))
        counted, problem = {_NONE: recorded}, None
        for fired, made in bodies.items():
            if not fired:
                continue
            try:
                counted[fired] = self._count(exchange.info, made.body, place.lane, generated)
            except InputError as error:
                counted[fired], problem = recorded, str(error)
        return counted, problem

    def _count(self, info: ExchangeInfo, body: bytes, lane: str, generated: str | None) -> _Counted:
        counter = self._choice.counter
        prompt = counter.parser.parse(body, info.endpoint)
        rendered = counter.rendered(prompt)
        asked = cache_request(
            prompt,
            rendered,
            counter.encoder,
            index=info.index,
            lane=lane,
            tokens=counter.sequence(rendered),
            generated=generated,
            info=info,
        )
        if self._choice.is_hosted:
            factor = self.calibration.factor(lane, info.model)
            asked = self._choice.places.with_blocks(asked, prompt, rendered, token_factor=factor)
        return _Counted(prompt, rendered, asked)

    def _whole(
        self, index: int, place: Place, counted: Sequence[_Counted], made: Applied
    ) -> tuple[bool, bool] | None:
        """Whether the prompt goes on from its parent's end; then keep its own end."""
        movers = {rule.id for rule in self._rules if rule.action == "move-to-end"}
        moves = any(change.rule in movers for change in made.changes)
        moved = _moved(counted[0].prompt, counted[1].prompt, made) if moves else 0
        self._ends[index] = (self._end(counted[0], 0), self._end(counted[1], moved))
        if place.is_first or place.parent not in self._ends:
            return None
        reached = [
            tokens.shared(own.asked.tokens) + _SEAM >= end
            for own, (tokens, end) in zip(counted, self._ends[place.parent], strict=True)
        ]
        return reached[0], reached[1]

    def _end(self, counted: _Counted, moved: int) -> tuple[TokenSequence, int]:
        """A prompt's tokens, and how many stand before what the template adds for the reply.

        Args:
            counted: the prompt.
            moved: so many blocks at its end were moved there: the next request has none of them.
        """
        tokens, last = counted.asked.tokens, counted.prompt.block_count - moved
        tail = ""
        for text, block in _backwards(counted.rendered):
            if block is not None and block < last:
                break
            tail = text + tail
        behind = self._choice.counter.encoder.sequence([tail]) if tail else ()
        return tokens, len(tokens) - len(behind)


def _backwards(rendered: Rendered) -> Iterator[tuple[str, int | None]]:
    for segment, first in zip(reversed(rendered.segments), reversed(rendered.firsts), strict=True):
        for text, block in reversed(segment.pieces):
            yield text, None if block is None else first + block


def _moved(sent: Prompt, changed: Prompt, made: Applied) -> int:
    """How many blocks the rules put at the end of the talk."""
    talk = [sum(len(part.blocks) for part in each.parts("messages")) for each in (sent, changed)]
    gone = sum(
        not change.after and change.path.startswith(("messages[", "input["))
        for change in made.changes
    )
    return max(0, talk[1] - talk[0] + gone)
