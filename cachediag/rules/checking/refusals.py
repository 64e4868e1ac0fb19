"""What speaks against rules, gathered while a session is replayed under them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cachediag.findings import load
from cachediag.rules.checking.likeness import is_of_others, look_alike
from cachediag.rules.checking.objection import Objection, Reason
from cachediag.rules.checking.purpose import beyond_purpose, shows_kind
from cachediag.rules.checking.replay import Names, Replayed
from cachediag.rules.engine.applied import Applied, Change
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.rule import Rule

__all__ = ["Outcome", "Refusals"]

# Where a text is taken out, what stands around it may be cut into other tokens; and engines round
# to their blocks.
_ROUNDING = 0.01
_REMEMBERED = 4_096
_CHANGING = ("V02", "V03", "V04", "V05", "V06")
_DISABLE = "Set enabled = false in it, or take it out."
_NARROW = "Narrow its path and pattern to what the finding names."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replay came to: sums over the session."""

    gains: Mapping[Names, Sequence[int]]
    """For each choice of rules the tokens saved, by the shared prefix and then by each cache."""
    touched: Mapping[str, int]
    """For each rule how many requests it changes."""
    requests: int
    prompt_tokens: int
    cache: str
    """The last cache's name."""
    saves_at: int = 0
    """Which of the gains are called savings."""

    def gain(self, names: Names, at: int) -> int:
        """Tokens saved by some rules.

        Args:
            names: the rules that are applied.
            at: by what: 0 is the shared prefix, 1 and on the caches, -1 the last of them.
        """
        row = self.gains.get(names, ())
        return row[at] if row else 0

    def saved(self, names: Names, others: Names) -> int:
        """Tokens that some rules save more than others do, by what is called savings here."""
        return self.gain(names, self.saves_at) - self.gain(others, self.saves_at)

    def lost(self, names: Names, others: Names) -> int:
        """Tokens that some rules save less than others do; 0 where that may be rounding."""
        shared = self.gain(others, 0) - self.gain(names, 0)
        cached = self.gain(others, -1) - self.gain(names, -1)
        if shared > self.requests:
            return shared
        return cached if cached > max(self.requests, _ROUNDING * self.prompt_tokens) else 0


@dataclass(slots=True)
class Refusals:
    """Objections to rules, each told once with the first request that shows it."""

    rules: tuple[Rule, ...]
    found: dict[tuple[Reason, tuple[str, ...]], Objection] = field(default_factory=dict)
    warned: list[Objection] = field(default_factory=list)
    _judged: set[tuple[str, str, str, str]] = field(default_factory=set)
    _shown: set[str] = field(default_factory=set)
    """Rules of which a change shows what their finding is about."""
    _dropped: dict[tuple[str, str], str] = field(default_factory=dict)
    """The first text that a rule dropped in a lane."""
    _varied: set[str] = field(default_factory=set)
    """Rules that dropped other texts there later."""

    def look(self, step: Replayed) -> None:
        """Look at one request."""
        for rule in self.rules:
            like = None if self._has("likeness", rule) else look_alike(rule, step.sent)
            if like is not None:
                self._like(rule, step, like)
            made = step.alone.get(rule.id)
            if made is not None:
                self._look_at(rule, made, step)
        self._meetings(step)
        self._repeats(step)
        if step.problem is not None:
            self._add(
                "unreadable",
                tuple(step.alone),
                f"the request cannot be rendered any more: {step.problem}",
                _DISABLE,
                step=step,
            )

    def _look_at(self, rule: Rule, made: Applied, step: Replayed) -> None:
        for change in made.changes:
            if is_of_others(rule, change, step.sent):
                self._like(rule, step, change.path)
            self._note_dropped(rule, change, step)
            key = (rule.id, change.path, change.before, change.after)
            if key in self._judged:
                continue
            if len(self._judged) < _REMEMBERED:
                self._judged.add(key)
            wrong = beyond_purpose(rule, change, step.sent.body, made.body)
            if wrong is not None:
                self._add("purpose", (rule.id,), wrong, _NARROW, step=step, path=change.path)
            if rule.id not in self._shown and shows_kind(rule, change, step.sent.body):
                self._shown.add(rule.id)

    def _note_dropped(self, rule: Rule, change: Change, step: Replayed) -> None:
        if rule.action == "drop-block" and rule.finding in _CHANGING:
            first = self._dropped.setdefault((rule.id, step.place.lane), change.before)
            if first != change.before:
                self._varied.add(rule.id)

    def _like(self, rule: Rule, step: Replayed, path: str) -> None:
        self._add(
            "likeness",
            (rule.id,),
            "matches text of the user, of the model or of a tool by mere likeness",
            "Give the path of the text that the client itself writes, such as system[0].text; "
            "messages = true lets a rule change what a client puts around the user's words.",
            step=step,
            path=path,
        )

    def _meetings(self, step: Replayed) -> None:
        for name, path in step.together.conflicts:
            others = _others_at(path, step.together.changes, name)
            pair = _ordered(self.rules, (name, *others))
            self._add(
                "meets",
                pair,
                "change the same bytes, so that only one of them has its way"
                if others
                else "changes the same bytes twice",
                "Leave one of them out, or narrow one so that they stand apart.",
                step=step,
                path=path,
            )

    def _repeats(self, step: Replayed) -> None:
        if step.again.body == step.together.body:
            return
        for change in step.again.changes:
            name = change.rule
            (rule,) = (each for each in self.rules if each.id == name)
            own = step.alone.get(name)
            if own is not None and apply_rules(own.body, step.sent.endpoint, [rule]).changes:
                self._add(
                    "repeats",
                    (name,),
                    "changes its own result again",
                    "Narrow its pattern so that it does not match what it leaves.",
                    step=step,
                    path=change.path,
                )
                continue
            others = _others_at(change.path, step.together.changes, name)
            others = others or tuple(each for each in step.alone if each != name)
            self._add(
                "undoes",
                _ordered(self.rules, (name, *others)),
                f"undo each other: {name} changes again what was changed",
                "Leave one of them out.",
                step=step,
                path=change.path,
            )

    def judge(self, outcome: Outcome) -> None:
        """Look at the session as a whole, when all of it has been seen."""
        self._judge_reuse(outcome)
        everything = frozenset(rule.id for rule in self.rules)
        for rule in self.rules:
            requests = outcome.touched.get(rule.id, 0)
            saved = max(
                outcome.saved(frozenset((rule.id,)), frozenset()),
                outcome.saved(everything, everything - {rule.id}),
            )
            if not requests:
                self._warn("never-fires", rule, _never(rule), _look_again(rule))
                continue
            if rule.id not in self._shown and not self._has("purpose", rule):
                self._add(
                    "purpose",
                    (rule.id,),
                    f"changes no text that shows {rule.finding}, {load(rule.finding).title}",
                    _NARROW,
                )
            dropped = any(name == rule.id for name, _ in self._dropped)
            if dropped and rule.id not in self._varied:
                self._add(
                    "purpose",
                    (rule.id,),
                    "takes a text from the model that never changes in this session",
                    "Check it against a session in which the text changes, or take it out.",
                )
            if saved <= 0 and not any(rule.id in names for _, names in self.found):
                self._warn(
                    "saves-nothing",
                    rule,
                    "saves no tokens in this session",
                    "The backend may remove the cause itself, or keep no such prefix: see cachediag"
                    " analyze, and name your backend with --profile.",
                )

    def _judge_reuse(self, outcome: Outcome) -> None:
        everything = frozenset(rule.id for rule in self.rules)
        remedy = f"{_DISABLE} Or check it against a session that shows its finding."
        for rule in self.rules:
            lost = outcome.lost(everything, everything - {rule.id})
            if lost:
                self._add("lowers-reuse", (rule.id,), _lowers(lost, outcome), remedy)
        lost = outcome.lost(everything, frozenset())
        if lost and not any(reason == "lowers-reuse" for reason, _ in self.found):
            names = tuple(rule.id for rule in self.rules)
            self._add("lowers-reuse", names, _lowers(lost, outcome), remedy)

    @property
    def refused(self) -> tuple[Objection, ...]:
        """What refuses the rules, in the order in which it was found."""
        return tuple(self.found.values())

    def _has(self, reason: Reason, rule: Rule) -> bool:
        return (reason, (rule.id,)) in self.found

    def _add(
        self,
        reason: Reason,
        rules: tuple[str, ...],
        message: str,
        remedy: str,
        *,
        step: Replayed | None = None,
        path: str | None = None,
    ) -> None:
        index = step.info.index if step else None
        self.found.setdefault(
            (reason, rules), Objection(reason, rules, message, remedy, index, path)
        )

    def _warn(self, reason: Reason, rule: Rule, message: str, remedy: str) -> None:
        self.warned.append(Objection(reason, (rule.id,), message, remedy))


def _others_at(path: str, changes: Iterable[Change], name: str) -> tuple[str, ...]:
    """The other rules that change something at a path, below it, or around it."""
    found = (
        change.rule
        for change in changes
        if change.rule != name and (_below(path, change.path) or _below(change.path, path))
    )
    return tuple(dict.fromkeys(found))


def _below(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def _ordered(rules: Iterable[Rule], names: Iterable[str]) -> tuple[str, ...]:
    """Names in the order of the file, each once."""
    wanted = set(names)
    return tuple(rule.id for rule in rules if rule.id in wanted)


def _lowers(lost: int, outcome: Outcome) -> str:
    return f"lowers the reuse: {lost:,} tokens more are prefilled again ({outcome.cache})"


def _never(rule: Rule) -> str:
    if rule.path.startswith(("messages[", "input[")) and not (rule.messages or rule.arguments):
        return "changes no request: a path in messages needs messages = true"
    return "changes no request of this session"


def _look_again(rule: Rule) -> str:
    return f"Check it against a session that shows {rule.finding}, and look at path and pattern."
