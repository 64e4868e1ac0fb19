"""What the first bytes, or characters, of recorded requests reach, and what makes them differ.

A router that goes by the head of a request sends two requests to one server when their heads are
equal. Here is told, of one's own requests, what stands in a head, and why heads differ where the
prompts do not.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from statistics import median_low
from typing import Literal, NamedTuple

from cachediag.analysis.requests import Request, Walk
from cachediag.analysis.tokenview import Counter as TokenCounter
from cachediag.heads import common_head
from cachediag.model import PROMPT_ENDPOINTS, Block, Finding, Prompt
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import top_level
from cachediag.session.source import Source
from cachediag.simulate.model import Unit
from cachediag.simulate.workloads.heads import message_texts

__all__ = ["LENGTHS", "Length", "Looked", "Trap", "TrapKind", "look"]

LENGTHS = tuple(2**power for power in range(10, 17))
"""The powers of two that SageMaker's `PrefixLength` may be: 1,024 to 65,536."""

TrapKind = Literal["volatile", "key-order", "spelling"]
"""Why the head of a request differs from that of the one it goes on from.

`volatile`: a value in it is new each time. `key-order`: the fields of the body come in another
order. `spelling`: the prompt is the same there, the bytes are not, as where a cache marker has
moved.
"""


@dataclass(frozen=True, slots=True)
class Length:
    """What heads of one length are, in the requests that were looked at: medians over them."""

    length: int
    """In units."""
    bytes: int
    characters: int
    tokens: int
    """Tokens of the prompt whose text stands in the head."""
    leading_tokens: int
    """Of these, tokens of tools and system prompt: what requests share."""
    ends_in: str | None
    """JSON path of the block in which most heads end, without its indexes; None where most
    requests are not longer than that."""
    heads: int
    """How many different heads there are."""
    without_leading: int
    """Requests that have tools or a system prompt, and nothing of these in their heads because
    the messages stand before them."""
    wide: int
    """Requests that have characters of more than one byte in their heads."""


@dataclass(frozen=True, slots=True)
class Trap:
    """Something that makes heads differ, as it was seen."""

    kind: TrapKind
    code: str | None
    """Code of the finding, where there is one."""
    path: str
    """JSON path of the one that is nearest to the beginning."""
    offsets: tuple[int, ...]
    """For each request in which it was seen, the units that stand before it; in order."""

    def requests(self, length: int) -> int:
        """In how many requests it stands within heads of a length."""
        return sum(offset < length for offset in self.offsets)


@dataclass(frozen=True, slots=True)
class Looked:
    """What recorded requests have in their heads."""

    unit: Unit
    requests: int
    leading_tokens: int
    """Tokens of tools and system prompt, the median."""
    lengths: tuple[Length, ...]
    traps: tuple[Trap, ...]


class _Placed(NamedTuple):
    """A block, and where it stands in what is counted."""

    block: Block
    number: int
    """In `Prompt.blocks`."""
    start: int
    end: int


class _Head(NamedTuple):
    """One request's head of one length."""

    key: bytes
    bytes: int
    characters: int
    tokens: int
    leading: int
    path: str | None
    without_leading: bool
    wide: bool


@dataclass(slots=True)
class _Seen:
    heads: dict[int, list[_Head]] = field(default_factory=dict)
    leading: list[int] = field(default_factory=list)
    traps: dict[tuple[TrapKind, str | None], list[tuple[int, str]]] = field(default_factory=dict)


def look(sources: Iterable[Source], counter: TokenCounter, unit: Unit) -> Looked:
    """Look at the heads of all requests of some sessions, at every length.

    Args:
        sources: the sessions.
        counter: renders and encodes as the backend does.
        unit: what a head is counted in.
    """
    seen = _Seen({length: [] for length in LENGTHS})
    for source in sources:
        walk = Walk(source.exchange, counter.profile, counter.parser)
        for exchange in source.exchanges():
            if exchange.info.endpoint in PROMPT_ENDPOINTS:
                _add(walk.step(exchange), counter, unit, seen)
    traps = tuple(_trap(kind, code, rows) for (kind, code), rows in seen.traps.items())
    return Looked(
        unit=unit,
        requests=len(seen.leading),
        leading_tokens=median_low(seen.leading) if seen.leading else 0,
        lengths=tuple(_length(each, heads) for each, heads in seen.heads.items() if heads),
        traps=traps,
    )


def _trap(kind: TrapKind, code: str | None, rows: Sequence[tuple[int, str]]) -> Trap:
    ordered = sorted(rows)
    return Trap(kind, code, ordered[0][1], tuple(offset for offset, _ in ordered))


def _length(length: int, heads: Sequence[_Head]) -> Length:
    ((path, _),) = Counter(each.path for each in heads).most_common(1)
    return Length(
        length=length,
        bytes=median_low(each.bytes for each in heads),
        characters=median_low(each.characters for each in heads),
        tokens=median_low(each.tokens for each in heads),
        leading_tokens=median_low(each.leading for each in heads),
        ends_in=path,
        heads=len({each.key for each in heads}),
        without_leading=sum(each.without_leading for each in heads),
        wide=sum(each.wide for each in heads),
    )


def _add(request: Request, counter: TokenCounter, unit: Unit, seen: _Seen) -> None:
    prompt = request.prompt
    if prompt is None:
        return
    tokens = _tokens(prompt, counter)
    blocks = prompt.blocks
    seen.leading.append(
        sum(tokens[number] for number, block in enumerate(blocks) if block.section != "messages")
    )
    text, placed = _VIEWS[unit](prompt)
    for length, heads in seen.heads.items():
        heads.append(_head(text, placed, tokens, length))
    for kind, code, offset, path in _differing(request, unit):
        if offset < LENGTHS[-1]:
            seen.traps.setdefault((kind, code), []).append((offset, path))


def _tokens(prompt: Prompt, counter: TokenCounter) -> list[int]:
    """Tokens of each block, but for what meets at their ends."""
    rendered = counter.rendered(prompt)
    tokens = [0] * prompt.block_count
    for text, number in rendered.pieces:
        if number is not None and text:
            tokens[number] += len(counter.encoder.sequence([text]))
    return tokens


def _head(
    text: bytes | str, placed: Sequence[_Placed], tokens: Sequence[int], length: int
) -> _Head:
    head = text[:length]
    raw = head if isinstance(head, bytes) else head.encode("utf-8", "surrogatepass")
    reached = [each for each in placed if each.start < length]
    counts = [_share(each, length, tokens[each.number]) for each in reached]
    leading = [
        count
        for each, count in zip(reached, counts, strict=True)
        if each.block.section != "messages"
    ]
    return _Head(
        key=blake2b(raw, digest_size=8).digest(),
        bytes=len(raw),
        characters=len(raw.decode("utf-8", "ignore")) if isinstance(head, bytes) else len(head),
        tokens=sum(counts),
        leading=sum(leading),
        path=_general(reached[-1].block.path) if reached and len(text) > length else None,
        without_leading=not leading,
        wide=not raw.isascii(),
    )


def _share(placed: _Placed, length: int, tokens: int) -> int:
    """Tokens of a block that stand in a head: of one that is cut, in proportion."""
    if placed.end <= length:
        return tokens
    return round(tokens * (length - placed.start) / (placed.end - placed.start))


def _general(path: str) -> str:
    return re.sub(r"\[\d+\]", "[*]", path)


def _in_body(prompt: Prompt) -> tuple[bytes, list[_Placed]]:
    blocks = enumerate(prompt.blocks)
    placed = [_Placed(block, number, block.start, block.end) for number, block in blocks]
    return prompt.body, sorted(placed, key=lambda each: each.start)


def _in_messages(prompt: Prompt) -> tuple[str, list[_Placed]]:
    texts, placed, end = [], [], 0
    for number, text in message_texts(prompt):
        placed.append(_Placed(prompt.blocks[number], number, end, end + len(text)))
        texts.append(text)
        end += len(text)
    return "".join(texts), placed


_VIEWS: dict[Unit, Callable[[Prompt], tuple[bytes | str, list[_Placed]]]] = {
    "bytes": _in_body,
    "characters": _in_messages,
}


def _differing(request: Request, unit: Unit) -> Iterator[tuple[TrapKind, str | None, int, str]]:
    """What makes a request's head differ from that of its parent: kind, code, offset, path."""
    if request.comparison is None:
        return
    volatile = [each for each in request.findings if each.code.startswith("V") and each.path]
    earlier, later = request.comparison.sent
    if unit == "bytes":
        yield from _new_values(volatile, common_head(earlier.body, later.body))
        yield from _in_other_bytes(earlier, later)
        return
    (before, _), (after, placed) = _in_messages(earlier), _in_messages(later)
    at = common_head(before, after)
    there = next((each for each in placed if each.start <= at < each.end), None)
    for each in volatile:
        if there and (each.path or "").startswith(there.block.path):
            yield "volatile", each.code, at, each.path or ""
            return


def _new_values(
    volatile: Iterable[Finding], least: int
) -> Iterator[tuple[TrapKind, str | None, int, str]]:
    """The first value of each kind that is new.

    Args:
        volatile: the findings.
        least: where the first byte differs. A finding says where its value begins, which may have
            the same first bytes.
    """
    first: dict[str, tuple[int, str]] = {}
    for each in volatile:
        if each.byte is not None and each.path is not None:
            row = (max(least, each.byte), each.path)
            first[each.code] = min(row, first.get(each.code, row))
    for code, (offset, path) in first.items():
        yield "volatile", code, offset, path


def _in_other_bytes(earlier: Prompt, later: Prompt) -> Iterator[tuple[TrapKind, None, int, str]]:
    """Whether the first bytes that differ say the same: in another order, or in other words."""
    a, b = earlier.body, later.body
    at = common_head(a, b)
    if a == b or at >= LENGTHS[-1]:
        return
    moved = _moved_field(a, b, at)
    if moved is not None:
        yield "key-order", None, at, moved
        return
    x, y = _next_block(earlier, at), _next_block(later, at)
    if (x and (x.role, x.canonical)) == (y and (y.role, y.canonical)):
        path = jsontext.path_at(b, at)
        # Another model has caches of its own.
        if path != "model":
            yield "spelling", None, at, path


def _moved_field(a: bytes, b: bytes, at: int) -> str | None:
    """The field that another one of both bodies stands in the place of, where that is at `at`."""
    one, other = list(top_level(a)), list(top_level(b))
    ends = 0
    for (name, _), (own, span) in zip(one, other, strict=False):
        if name != own:
            in_both = name in dict(other) and own in dict(one)
            return own if in_both and ends <= at < span.start else None
        ends = span.end
    return None


def _next_block(prompt: Prompt, at: int) -> Block | None:
    """The block that a byte stands in, or else the next one."""
    behind = [block for block in prompt.blocks if block.end > at]
    return min(behind, key=lambda block: block.start, default=None)
