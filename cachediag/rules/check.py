"""A rule file tried on a recorded session: what it changes, what it saves, whether it is safe."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cachediag.analysis.choice import Choice
from cachediag.analysis.rates import share
from cachediag.errors import CachediagError
from cachediag.model import Exchange
from cachediag.rules.checking.objection import Objection
from cachediag.rules.checking.refusals import Outcome, Refusals
from cachediag.rules.checking.replay import Replay, Replayed
from cachediag.rules.checking.told import Telling, Told
from cachediag.rules.rule import Rule, RuleSet

__all__ = ["CacheOutcome", "Checked", "LaneOutcome", "RuleOutcome", "check"]

KEEPS_CACHE = "conversation-slots:slots=4"
"""What is played where the backend keeps no cache: rules alone change nothing there."""

_Key = tuple[str, str | None]


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """One rule over the session."""

    rule: Rule
    requests: int = 0
    """Requests that it changes."""
    places: int = 0
    size: int = 0
    """Bytes of the bodies as sent that it removes, replaces or moves."""
    tokens_saved: int = 0
    """Tokens that need not be prefilled again with this rule alone, if each request reuses the
    longest prefix that it shares with any earlier one; of a hosted cache, which reuses prefixes
    at breakpoints alone, what its model reuses. Negative where there are more."""
    tokens_added: int = 0
    """What it saves beside the others: how much fewer it would be without it."""
    reuse_gained: int = 0
    """As `tokens_saved`, by the cache that is played: the chosen engine, or where that keeps
    nothing, the one behind it."""
    told: tuple[Told, ...] = ()
    """What the model is told otherwise, the commonest first."""


@dataclass(frozen=True, slots=True)
class CacheOutcome:
    """The session played to one cache."""

    engine: str
    prompt_tokens: tuple[int, int]
    """As recorded, and with the rules."""
    reused_tokens: tuple[int, int]

    @property
    def hit_rates(self) -> tuple[float, float]:
        """The share of prompt tokens that is reused, as recorded and with the rules."""
        (prompt, with_rules), (reused, more) = self.prompt_tokens, self.reused_tokens
        return share(reused, prompt), share(more, with_rules)


@dataclass(frozen=True, slots=True)
class LaneOutcome:
    """The later requests of one lane."""

    lane: str
    requests: int
    """Those that go on from an earlier one."""
    whole: tuple[int, int]
    """Of these, how many share all of their parent's prompt, as recorded and with the rules."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a rule file does to a session."""

    ruleset: RuleSet
    profile: str
    model: str
    exact: bool
    """All tokens are the backend's own count."""
    requests: int
    """Requests that call a model."""
    touched: int
    """Of these, how many any rule changes."""
    unread: int
    """Requests whose body cannot be read; no rule is applied to them."""
    shared_tokens: tuple[int, int]
    """Longest prefixes shared with any earlier request, as recorded and with the rules."""
    caches: tuple[CacheOutcome, ...]
    """The chosen engine, and behind one that keeps nothing, one that does."""
    lanes: tuple[LaneOutcome, ...]
    rules: tuple[RuleOutcome, ...]
    """In the order of the file, the disabled ones too."""
    refusals: tuple[Objection, ...]
    warnings: tuple[Objection, ...]

    @property
    def safe(self) -> bool:
        """Nothing speaks against applying the rules."""
        return not self.refusals


def check(exchanges: Iterable[Exchange], ruleset: RuleSet, choice: Choice) -> Checked:
    """Replay the enabled rules over a session, offline.

    The session is walked once, and of each request only the tokens are kept.

    Args:
        exchanges: the session's exchanges in order.
        ruleset: the rules; the disabled ones are not applied.
        choice: what to render, encode and play by.

    Raises:
        ValueError: a path or a pattern is none; `read_rules` lets none through.
    """
    engines = [choice.engine_spec]
    if choice.engine_name == "none":
        engines.append(KEEPS_CACHE)
    replay = Replay(ruleset.enabled, choice, engines)
    tally = _Tally(replay, Refusals(ruleset.enabled), -1 if choice.is_hosted else 0)
    for each in _replayed(exchanges, replay, tally):
        tally.add(each)
    return tally.outcome(ruleset, choice)


def _replayed(exchanges: Iterable[Exchange], replay: Replay, tally: "_Tally") -> Iterator[Replayed]:
    for exchange in exchanges:
        if exchange.info.endpoint == "other":
            continue
        try:
            step = replay.step(exchange)
        except CachediagError:
            tally.unread += 1
            continue
        if step is not None:
            yield step


@dataclass(slots=True)
class _RuleTally:
    requests: int = 0
    places: int = 0
    size: int = 0
    telling: Telling = field(default_factory=Telling)


def _zeros() -> defaultdict[_Key, list[int]]:
    return defaultdict(list)


@dataclass(slots=True)
class _Tally:
    """What has been seen of the session so far."""

    replay: Replay
    refusals: Refusals
    saves_at: int
    """Which of the gains are called savings: those of the shared prefix, or of the last cache."""
    unread: int = 0
    requests: int = 0
    touched: int = 0
    exact: bool = True
    rules: defaultdict[str, _RuleTally] = field(default_factory=lambda: defaultdict(_RuleTally))
    counts: defaultdict[frozenset[str], defaultdict[_Key, list[int]]] = field(
        default_factory=lambda: defaultdict(_zeros)
    )
    """Per session and sender: prompt tokens, shared tokens, reused tokens of each cache."""
    gains: defaultdict[frozenset[str], defaultdict[_Key, list[int]]] = field(
        default_factory=lambda: defaultdict(_zeros)
    )
    lanes: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * 3))

    def add(self, step: Replayed) -> None:
        """Count one request."""
        self.requests += 1
        self.touched += bool(step.together.changes)
        self.exact = self.exact and step.exact
        self.refusals.look(step)
        for name, made in step.alone.items():
            rule = self.rules[name]
            rule.requests += 1
            for change in made.changes:
                rule.places += 1
                rule.size += change.size
                rule.telling.add(change.before, change.after)
        key = step.place.lane, step.info.model
        recorded = step.played[frozenset()]
        for names, played in step.played.items():
            _add(self.counts[names][key], (played.prompt, played.shared, *played.reused))
            _add(self.gains[names][key], played.gains(recorded))
        lane = self.lanes[step.place.lane]
        if step.whole is not None:
            _add(lane, (1, *step.whole))

    def outcome(self, ruleset: RuleSet, choice: Choice) -> Checked:
        """All of it together."""
        before, after = (self._sums(self.counts[names]) for names in (frozenset(), self.replay.all))
        gains = {names: self._sums(rows) for names, rows in self.gains.items()}
        engines = self.replay.engines
        outcomes = tuple(self._rule(rule, gains) for rule in ruleset.rules)
        self.refusals.judge(
            Outcome(
                gains=gains,
                touched={name: rule.requests for name, rule in self.rules.items()},
                requests=self.requests,
                prompt_tokens=before[0],
                cache=engines[-1],
                saves_at=self.saves_at,
            )
        )
        return Checked(
            ruleset=ruleset,
            profile=choice.counter.profile.name,
            model=choice.model,
            exact=self.exact,
            requests=self.requests,
            touched=self.touched,
            unread=self.unread,
            shared_tokens=(before[1], after[1]),
            caches=tuple(
                CacheOutcome(name, (before[0], after[0]), (before[at], after[at]))
                for at, name in enumerate(engines, 2)
            ),
            lanes=tuple(
                LaneOutcome(name, count, (whole, with_rules))
                for name, (count, whole, with_rules) in self.lanes.items()
                if count
            ),
            rules=outcomes,
            refusals=self.refusals.refused,
            warnings=tuple(self.refusals.warned),
        )

    def _rule(self, rule: Rule, gains: Mapping[frozenset[str], list[int]]) -> RuleOutcome:
        if not rule.enabled or rule.id not in self.rules:
            return RuleOutcome(rule)
        seen = self.rules[rule.id]
        alone = gains[frozenset((rule.id,))]
        others = self.replay.all - {rule.id}
        return RuleOutcome(
            rule=rule,
            requests=seen.requests,
            places=seen.places,
            size=seen.size,
            tokens_saved=alone[self.saves_at],
            tokens_added=gains[self.replay.all][self.saves_at] - gains[others][self.saves_at],
            reuse_gained=alone[-1],
            told=seen.telling.told(),
        )

    def _sums(self, rows: Mapping[_Key, list[int]]) -> list[int]:
        """The sums over all senders, estimates set right by what the responses report."""
        total: list[int] = []
        for (lane, model), row in rows.items():
            factor = self.replay.calibration.factor(lane, model)
            _add(total, tuple(round(value * factor) for value in row))
        return total or [0] * 4


def _add(total: list[int], row: Iterable[int]) -> None:
    for at, value in enumerate(row):
        if at == len(total):
            total.append(0)
        total[at] += value
