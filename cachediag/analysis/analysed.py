"""One request of a session in tokens."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cachediag.analysis.lanes import Kind
from cachediag.model import ExchangeInfo, Finding

__all__ = ["Analysed", "Blame"]

Blame = tuple[str, str | None, int]
"""Avoidable tokens of one cause: code, path, tokens. Code `-` is the engine's design."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """One request in tokens. Prompt tokens are reused, avoidable or new."""

    info: ExchangeInfo
    lane: str
    kind: Kind
    parent: int | None
    prompt_tokens: int = 0
    shared_tokens: int = 0
    """The longest prefix shared with any earlier request, as sent."""
    reused_tokens: int = 0
    """What the engine's cache model reuses."""
    avoidable_tokens: int = 0
    """Prefilled again though the causes found could be removed."""
    created_tokens: int = 0
    """Of the tokens behind the reused ones, how many a hosted cache is paid for to keep."""
    created_1h_tokens: int = 0
    """Of these, how many for one hour."""
    exact: bool = False
    findings: tuple[Finding, ...] = ()
    blamed: tuple[Blame, ...] = ()
    """The avoidable tokens by cause."""
    problem: str | None = None

    @property
    def new_tokens(self) -> int:
        """What no earlier request held."""
        return self.prompt_tokens - self.reused_tokens - self.avoidable_tokens

    def scaled(self, factor: float) -> "Analysed":
        """The same with every count multiplied; what made up a whole still does."""
        if factor == 1.0:
            return self
        reused, end = self.reused_tokens, self.reused_tokens + self.avoidable_tokens
        kept, kept_1h = reused + self.created_tokens, reused + self.created_1h_tokens
        base = round(reused * factor)
        return replace(
            self,
            prompt_tokens=round(self.prompt_tokens * factor),
            shared_tokens=round(self.shared_tokens * factor),
            reused_tokens=base,
            avoidable_tokens=round(end * factor) - base,
            created_tokens=round(kept * factor) - base,
            created_1h_tokens=round(kept_1h * factor) - base,
            findings=tuple(_scaled_finding(found, factor) for found in self.findings),
            blamed=tuple(_scaled_blame(self.blamed, reused, factor)),
        )


def _scaled_finding(found: Finding, factor: float) -> Finding:
    lost = found.tokens_lost
    return found if lost is None else replace(found, tokens_lost=round(lost * factor))


def _scaled_blame(blamed: Iterable[Blame], start: int, factor: float) -> Iterable[Blame]:
    for code, path, tokens in blamed:
        end = start + tokens
        scaled = round(end * factor) - round(start * factor)
        if scaled:
            yield code, path, scaled
        start = end
