"""A rule: what to change in a request so that its prefix stays what it was.

Only the standard library is used here and in `cachediag.rules.engine`: exported scripts carry
these modules with them.
"""

from dataclasses import dataclass, field

__all__ = ["ACTIONS", "PROTOCOLS", "SORT_BY", "Evidence", "Rule", "RuleSet"]

ACTIONS = ("drop-block", "replace", "sort", "move-to-end", "pin", "keep-inline")
PROTOCOLS = ("messages", "chat", "responses")
SORT_BY = ("name", "keys", "lines", "items")


@dataclass(frozen=True)
class Evidence:
    """What a rule was made from. Plays no part in applying it."""

    requests: int = 0
    """Requests of the session that showed the finding."""
    tokens_saved: int = 0
    """Tokens that need not be prefilled again, by the profile and tokenizer of the rule file."""
    exact: bool = False
    """The tokens were counted by the model's own tokenizer and template."""
    seen: tuple[str, ...] = ()
    """A few of the values."""


@dataclass(frozen=True)
class Rule:
    """One change, where it applies, and why it is there."""

    id: str
    finding: str
    """The code that it answers."""
    action: str
    """One of `ACTIONS`."""
    protocol: str
    """One of `PROTOCOLS`: the kind of request that it applies to."""
    path: str
    """Where in the body. Steps are `name`, `[3]`, `[*]` for every item, and `[name=X]` for the tool
    of that name: `system[0]`, `tools[name=Bash].description`, `tools[*].input_schema`."""
    pattern: str | None = None
    """What the text at the path must match (see `cachediag.rules.pattern`). A group marks the piece
    that is changed; without one it is the whole match."""
    value: str | None = None
    """What `replace` puts there."""
    by: str | None = None
    """What `sort` sorts by, one of `SORT_BY`."""
    enabled: bool = True
    messages: bool = False
    """May change what a client wrote around the user's words in a user message. Off, no text of a
    user or of the model is ever touched."""
    arguments: bool = False
    """`sort` may change the arguments that the model generated."""
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True)
class RuleSet:
    """The rules of one file, in its order."""

    rules: tuple[Rule, ...] = ()
    profile: str | None = None
    """The profile that they were made for."""
    model: str | None = None
    """The model, as given to `--model`, whose tokens were counted."""

    @property
    def enabled(self) -> tuple[Rule, ...]:
        """Those that are applied."""
        return tuple(rule for rule in self.rules if rule.enabled)
