"""What travels between the process that asks and those that analyse: small values, no bodies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from cachediag.analysis.summary import CauseCost

__all__ = ["Counted", "Failed", "Named", "Outcome", "Settings", "Table"]

Table: TypeAlias = Any
"""A `pyarrow.Table`, which has no types of its own."""


@dataclass(frozen=True, slots=True)
class Named:
    """A session that is to be analysed."""

    label: str
    """What reports and rows call it: as it was named, without credentials."""
    address: str
    """An absolute path, or an address of an object store."""
    is_remote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How every session is analysed: the options of `analyze`, as given."""

    profile: str | None = None
    model: str | None = None
    tokenizer: str | None = None
    engine: str | None = None
    incoming: bool = False
    prefill_rate: float | None = None
    """Tokens a second."""
    with_rows: bool = False
    """Make a row a request, which needs pyarrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """One session in tokens, without its text."""

    label: str
    profile: str
    model: str
    """The tokenizer."""
    engine: str
    requests: int
    uncounted: int
    """Of these, how many carry a prompt that could not be counted."""
    body_bytes: int
    """Of all requests, those that call no model too."""
    prompt_tokens: int
    reused_tokens: int
    avoidable_tokens: int
    exact: bool
    avoidable_seconds: float | None
    """Of prefilling the avoidable tokens; None where no rate is known."""
    usd: float | None
    """Dollars for the prompts whose price is known; None where none is."""
    avoidable_usd: float | None
    priced_requests: int
    prices_as_of: str | None
    """A month, such as `2026-10`."""
    causes: tuple[CauseCost, ...]
    notes: Sequence[str] = ()
    """What the user must be told of how it was read."""
    rows: Table | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A session that could not be analysed."""

    label: str
    reason: str
    """In one line."""
    remedy: str | None = None


Outcome: TypeAlias = Counted | Failed
