"""The values that travel between the stages, left of every package.

`Exchange` comes out of capture and session, `Prompt` and `Block` out of protocol, `Finding` out
of compare. All are frozen: a stage returns a new value, it never changes one it was given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias

__all__ = [
    "PROMPT_ENDPOINTS",
    "Block",
    "Confidence",
    "Endpoint",
    "Excerpt",
    "Exchange",
    "ExchangeInfo",
    "Finding",
    "Json",
    "Marker",
    "Part",
    "Prompt",
    "Run",
    "Section",
    "Severity",
    "Usage",
    "below",
]

_BLOCKS = attrgetter("blocks")

Json: TypeAlias = Any
"""A decoded JSON value: None, bool, int, float, str, list or dict."""

Endpoint = Literal["messages", "chat", "responses", "count_tokens", "other"]
"""What was called: `/v1/messages`, `/v1/chat/completions`, `/v1/responses`, the counting of
tokens, or anything else."""

PROMPT_ENDPOINTS: Final[tuple[Endpoint, ...]] = ("messages", "chat", "responses")
"""Those whose requests carry a prompt that is prefilled."""

Section = Literal["tools", "system", "messages"]
"""Where in the prompt a block stands; the three follow one another in this order."""

Severity = Literal["break", "cost", "info"]
"""`break`: the shared prefix ends here though it could go on. `cost`: costs tokens, time or money
in another way. `info`: harmless."""

Confidence = Literal["confirmed", "suspected"]
"""`confirmed`: seen in the pair. `suspected`: inferred."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The token counts a response reports. None means absent, which is not zero.

    The fields are as reported, under one name each: `input_tokens` (`prompt_tokens` in the
    OpenAI protocols), `cache_read` (`cache_read_input_tokens`, or `cached_tokens` in the
    details), `cache_creation` (`cache_creation_input_tokens`), `output_tokens`.
    """

    input_tokens: int | None = None
    cache_read: int | None = None
    cache_creation: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeInfo:
    """All of one recorded exchange but its bodies.

    Times are seconds since the epoch, on the recorder's clock. `headers` hold only the
    allow-listed names, in lower case.
    """

    index: int = -1
    """Position in the session, from 0; -1 until it is stored."""
    endpoint: Endpoint
    method: str = "POST"
    path: str
    """Path with query; the values of query parameters that are not allow-listed are redacted."""
    started: float | None = None
    """When the request began to arrive."""
    first_byte: float | None = None
    """When the response's first byte arrived."""
    first_token: float | None = None
    """When the first generated token arrived; None where that cannot be told."""
    ended: float | None = None
    """When the response was complete, or was given up."""
    status: int | None = None
    """HTTP status; None where no response came."""
    model: str | None = None
    """The model that the request asks for."""
    response_model: str | None = None
    """The model that the response names."""
    usage: Usage | None = None
    """None where the response reports none."""
    headers: Mapping[str, str] = field(default_factory=dict)
    response_headers: Mapping[str, str] = field(default_factory=dict)
    request_size: int = 0
    """Bytes of the stored request body."""
    response_size: int = 0
    outgoing_size: int | None = None
    """Bytes of the stored outgoing body; None where the request went on as it came."""
    notes: tuple[str, ...] = ()
    """What the recorder did or could not do: encodings undone, text redacted, a client gone."""
    error: str | None = None
    """Why the exchange did not complete; None where it did."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response.

    `request` is the body exactly as the client sent it, its content-encoding undone (then
    `info.notes` says so). `response` likewise; for an SSE response, the whole stream. `outgoing` is
    the body that went on to the server, where rules or another addon had changed it.
    """

    info: ExchangeInfo
    request: bytes
    response: bytes = b""
    outgoing: bytes | None = None
    """None where the request went on as it came."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A cache breakpoint (`cache_control`) on a block. `ttl` is as sent: None, `5m` or `1h`."""

    kind: str = "ephemeral"
    ttl: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt, in cache order, with its place in the raw body.

    Two blocks are the same to every cache when `role` and `canonical` are equal.
    """

    section: Section
    role: str
    """`tools`, or the message's role: `system`, `user`, `assistant`, `tool`, `developer`."""
    kind: str
    """`tool`, `text`, `thinking`, `tool_use`, `tool_result`, `image`, `document`, …; a type that
    is not known is kept under the name it was sent with."""
    path: str
    """JSON path of the block in the body: `system[0]`, `messages[3].content[1]`, and
    `messages[3].content` where the content is a string."""
    start: int
    """Offset of the block's first byte in the raw body."""
    end: int
    """Offset after the block's last byte."""
    canonical: bytes
    """Compact UTF-8 JSON of the block without its cache marker, key order as sent; a string is
    written as the text block it stands for."""
    marker: Marker | None = None
    message: int | None = None
    """Index of the message it belongs to, in `messages` (or `input`); None outside."""
    is_string: bool = False
    """Sent as a bare string, not as a block."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One item of a prompt's arrays: a tool, a system block, a message.

    Made once for each raw content by a `cachediag.protocol.Parser`, so that the prompts of a
    session share their parts, and two parts that are one object are the same to the byte.
    """

    raw: bytes
    """The item's own JSON, as sent."""
    blocks: tuple[Block, ...]
    """Its blocks; paths and spans are relative to the item, `message` is None."""
    digest: bytes
    """Digest of the blocks' roles and contents: equal digests are the same to every cache."""
    role: str
    """Who says it; empty where it holds nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Parts that follow one another in a prompt, and where they stand in the body."""

    section: Section
    path: str
    """JSON path of the array, or of the value itself where it is no array."""
    parts: tuple[Part, ...]
    base: int
    """Offset of the array in the raw body."""
    starts: tuple[int, ...]
    """Offset of each part in the array, so that prompts can share this too."""
    indexes: Sequence[int] | None
    """Index of each part in its array; None where the value is no array."""
    is_messages: bool = False
    """The parts are messages, so that an index is a message's number."""

    def place(self, number: int) -> tuple[Block, ...]:
        """The blocks of one part, with their paths and spans in the whole body."""
        start = self.base + self.starts[number]
        index = None if self.indexes is None else self.indexes[number]
        base = self.path if index is None else f"{self.path}[{index}]"
        message = index if self.is_messages else None
        return tuple(
            Block(
                section=self.section,
                role=block.role,
                kind=block.kind,
                path=below(base, block.path),
                start=start + block.start,
                end=start + block.end,
                canonical=block.canonical,
                marker=block.marker,
                message=message,
                is_string=block.is_string,
            )
            for block in self.parts[number].blocks
        )


def below(path: str, inner: str) -> str:
    """The JSON path in the whole of what stands at `inner` in what stands at `path`."""
    return path + (inner if not inner or inner.startswith("[") else f".{inner}")


@dataclass(frozen=True, eq=False)
class Prompt:
    """A request's prompt: its parts in cache order (tools, system, messages).

    `params` holds every other top-level field of the body, as compact JSON: the model, the
    sampling parameters, the metadata. `body` is the raw body that the spans point into.
    """

    endpoint: Endpoint
    model: str | None
    runs: tuple[Run, ...]
    params: Mapping[str, bytes]
    body: bytes

    @cached_property
    def block_count(self) -> int:
        """How many blocks there are."""
        return sum(sum(map(len, map(_BLOCKS, run.parts))) for run in self.runs)

    def parts(self, section: Section) -> tuple[Part, ...]:
        """The parts of one section."""
        runs = [run.parts for run in self.runs if run.section == section]
        return runs[0] if len(runs) == 1 else tuple(part for parts in runs for part in parts)

    def place(self, section: Section, first: int = 0) -> list[Block]:
        """The blocks of one section, from one of its parts on, placed in the body."""
        placed: list[Block] = []
        for run in self.runs:
            if run.section == section:
                for number in range(first, len(run.parts)):
                    placed += run.place(number)
                first = max(0, first - len(run.parts))
        return placed

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Every block in cache order, placed in the body. Costs time for each block."""
        return tuple(
            block
            for run in self.runs
            for number in range(len(run.parts))
            for block in run.place(number)
        )


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A short piece of captured text; `text[start:end]` is the part that changed.

    Captured text is untrusted: print it only through `cachediag.report.safe`.
    """

    text: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause, or one harmless difference, between two requests."""

    code: str
    severity: Severity
    confidence: Confidence = "confirmed"
    path: str | None = None
    """JSON path in the later body."""
    byte: int | None = None
    """Offset in the later body at which it shows; None where it has no place there."""
    before: Excerpt | None = None
    after: Excerpt | None = None
    tokens_lost: int | None = None
    """What removing this cause alone would add to the shared prefix; None until computed."""
    message: str
    fix: str | None = None
    """A rule id or a client switch that removes it; None where there is none."""
