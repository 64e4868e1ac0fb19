"""What a cache model is asked, and what it answers.

A model plays one engine's prefix cache over a session. It keeps state, and is fed the requests that
the engine took, in the order in which they started. It works on token sequences alone: what an
engine makes of a body, the caller has worked out by the profile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from cachediag.model import Endpoint, Section
from cachediag.tokens.sequence import TokenSequence

__all__ = [
    "Breakpoint",
    "CacheModel",
    "CacheRequest",
    "Lifetime",
    "PromptBlock",
    "Reason",
    "Served",
]

Lifetime = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class PromptBlock:
    """One block of a hosted prompt, in cache order: tools, system, messages."""

    end: int
    """Tokens of the prompt up to the block's end."""
    section: Section
    kind: str
    """`tool`, `text`, `thinking`, `tool_use`, `tool_result`, `image`, …"""
    role: str
    message: int | None = None
    """Index of the message it belongs to; None for tools and system."""


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A `cache_control` marker: the prefix that ends with its block is to be cached."""

    block: int
    """Index of the marked block in `CacheRequest.blocks`."""
    lifetime: Lifetime = "5m"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRequest:
    """One request, as far as caches look at it. Lengths are in tokens, times in seconds."""

    index: int
    lane: str
    tokens: TokenSequence
    """The prompt as the engine prefills it."""
    endpoint: Endpoint = "messages"
    model: str | None = None
    started: float | None = None
    first_byte: float | None = None
    ended: float | None = None
    """Where a time is None, all that waits for it is taken to have happened at once."""
    shared: int = 0
    """The longest prefix that the prompt shares with any earlier prompt, or prompt and reply: a
    model that reuses less says why."""
    system_length: int = 0
    """Length of the prefix that holds the system text and the tools, as the engine itself finds
    it; 0 where there is none, or where its tokens do not begin the prompt."""
    system_shared: int = 0
    """How many tokens of that prefix the prompt begins with: fewer than it has where its last one
    joins the text behind it. Then `system_length` is 0."""
    system_key: bytes = b""
    """Digest of that prefix; equal keys, equal prefixes."""
    history_length: int = 0
    """Length of all that stands before the content of the last message, where that message is a
    user's in the form the engine sees; 0 where it is not."""
    tail_length: int = 0
    """Length of the thinking tags that the template puts after the generation prompt."""
    reply: TokenSequence | None = None
    """The prompt and all tokens generated after it, the end-of-turn token included; None where
    the reply was not recorded."""
    stream: bool = False
    has_tools: bool = False
    has_images: bool = False
    params: Mapping[str, bytes] = field(default_factory=dict)
    """Every other top-level field of the body, as compact JSON."""
    blocks: Sequence[PromptBlock] = ()
    """For hosted models; empty elsewhere."""
    breakpoints: tuple[Breakpoint, ...] = ()
    """In the order of their blocks."""
    token_factor: float = 1.0
    """How many tokens a hosted model's own tokenizer makes of one of these, where they are an
    estimate: its minimum is in its own."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an engine reused less than the prompt shares with earlier ones."""

    code: str | None
    """The finding: P01 to P06, M02 to M05, S10; None where the engine's design is the reason, as
    of one that keeps the system prefix alone."""
    note: str


@dataclass(frozen=True, slots=True)
class Served:
    """What an engine does with one request."""

    reused: int
    """Tokens taken from the cache."""
    created: int = 0
    """Tokens of the prompt that are newly kept."""
    created_1h: int = 0
    """How many of these for one hour; for hosted models that charge for it."""
    reason: Reason | None = None
    """None where nothing was lost but what rounding to blocks and the last token cost, which every
    engine feeds again."""
    evicted: tuple[str, ...] = ()
    """The lanes whose kept tokens were dropped to make room, in the order of their dropping."""


class CacheModel(Protocol):
    """One engine's prefix cache."""

    @property
    def name(self) -> str:
        """The name on the command line, with `@VERSION` where the version matters."""
        ...

    def serve(self, request: CacheRequest) -> Served:
        """Play the next request: look it up, then keep what the engine keeps of it."""
        ...
