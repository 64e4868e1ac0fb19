"""A request body of any of the protocols → `Prompt`."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile

from cachediag.errors import InputError
from cachediag.model import Block, Endpoint, Part, Prompt, Run, Section
from cachediag.protocol import bounded, chat, jsontext, messages, responses
from cachediag.protocol.blocks import Place, top_level
from cachediag.protocol.endpoint import endpoint_of_body
from cachediag.protocol.fields import Field
from cachediag.protocol.jsontext import Span

__all__ = ["Parser", "parse", "part"]

_FIELDS: dict[Endpoint, tuple[Field, ...]] = {
    "messages": messages.FIELDS,
    "count_tokens": messages.FIELDS,
    "chat": chat.FIELDS,
    "responses": responses.FIELDS,
}
# Arrays that later bodies may begin with; the lanes of a session take turns.
_RECENT = 8
_NEARLY = 2
_LOOK = 32
_BEHIND = (b",", b"]", b" ", b"\n", b"\r", b"\t")


def parse(body: bytes, endpoint: Endpoint | None = None) -> Prompt:
    """Turn one request body into its blocks in cache order; see `Parser.parse`."""
    return Parser().parse(body, endpoint)


class Parser:
    """Parses the bodies of a session, each tool, system block and message of them once."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, bytes], Part] = {}
        self._recent: defaultdict[str, deque[_Array]] = defaultdict(_latest)
        self._talks = _latest()

    def parse(self, body: bytes, endpoint: Endpoint | None = None) -> Prompt:
        """Turn a request body into its blocks in cache order.

        Every block is kept, of whatever type; its span is its place in `body`, so that
        `body[block.start:block.end]` is the block's own JSON.

        Args:
            body: the raw body, content-encoding undone.
            endpoint: the protocol; told from the body itself where it is not given.

        Raises:
            InputError: the body is not JSON, or no request body of a known protocol.
        """
        opened = self._open(body)
        top = dict(opened.members)
        if endpoint is None:
            endpoint = endpoint_of_body(
                {name: jsontext.decode(body[at.start : at.end]) for name, at in top.items()}
            )
        fields = _FIELDS.get(endpoint, ())
        names = {field.name for field in fields}
        if not names & top.keys():
            raise InputError(
                "a JSON object, but not a request body: it has no messages",
                remedy="Give the body of a request to /v1/messages, /v1/chat/completions or "
                "/v1/responses.",
            )
        params = {
            name: jsontext.encode(bounded.decode(body[at.start : at.end]))
            for name, at in top.items()
            if name not in names
        }
        model = jsontext.decode(params["model"]) if "model" in params else None
        return Prompt(
            endpoint=endpoint,
            model=model if isinstance(model, str) else None,
            runs=tuple(
                run
                for field in fields
                if field.name in top
                for run in self._runs(opened, field, top[field.name])
            ),
            params=params,
            body=body,
        )

    def _open(self, body: bytes) -> "_Body":
        """The fields of a body; those of one that goes on from an earlier one, from there on."""
        same = [talk for talk in self._talks if body.startswith(memoryview(talk.body)[: talk.base])]
        known, shared = _longest(same, body)
        if known is not None:
            rest = jsontext.members_from(body, known.base + known.ends[shared - 1])
            if rest is not None:
                own = known.field.name, Span(known.base, rest[0])
                return _Body(body, (*known.before, own, *rest[1]), known, shared)
        return _Body(body, tuple(top_level(body)))

    def _runs(self, body: "_Body", field: Field, at: Span) -> Iterator[Run]:
        opening = body.raw[at.start : at.start + 1]
        if opening == b"n":
            return
        if opening != b"[":
            if not field.may_be_single:
                raise InputError(
                    f"expected an array at byte {at.start}", remedy="Give a request body."
                )
            single = self._part(field, body.raw[at.start : at.end])
            yield Run(field.section, field.name, (single,), at.start, (0,), None, field.is_messages)
            return
        array = self._array(body, field, at)
        leading = 0
        if field.leads_with_system:
            leading = sum(1 for _ in takewhile(field.leads_with_system, array.parts))
        if leading:
            yield _slice(array, "system", range(leading))
        if leading < len(array.parts):
            yield _slice(array, field.section, range(leading, len(array.parts)))

    def _array(self, opened: "_Body", field: Field, at: Span) -> "_Array":
        """The parts of an array; those at the head that an array before had are taken from it."""
        recent = self._recent[field.key]
        body, known, shared = opened.raw, opened.known, opened.shared
        if known is None or known.field is not field or known.base != at.start:
            known, shared = _longest(recent, body, at)
        first = at.start if known is None else at.start + known.ends[shared - 1]
        spans = list(jsontext.items_after(body, first, at))
        parts = tuple(self._part(field, body[span.start : span.end]) for span in spans)
        starts = tuple(span.start - at.start for span in spans)
        ends = tuple(span.end - at.start for span in spans)
        if known is not None:
            parts = known.parts[:shared] + parts
            starts = known.starts[:shared] + starts
            ends = known.ends[:shared] + ends
        before = tuple(member for member in opened.members if member[1].start < at.start)
        made = _Array(field, body, before, at.start, parts, starts, ends)
        recent.appendleft(made)
        if field.is_messages:
            self._talks.appendleft(made)
        return made

    def _part(self, field: Field, raw: bytes) -> Part:
        known = self._parts.get((field.key, raw))
        if known is None:
            known = self._parts[field.key, raw] = _new_part(field, raw)
        return known


@dataclass(frozen=True, slots=True)
class _Body:
    """A body and its top-level fields, repeated ones too."""

    raw: bytes
    members: tuple[tuple[str, Span], ...]
    known: "_Array | None" = None
    """An array of an earlier body that begins as this one does, up to one of the array's items."""
    shared: int = 0
    """The items up to there."""


@dataclass(frozen=True, slots=True)
class _Array:
    """An array of an earlier body: where its items stood, and what they became."""

    field: Field
    body: bytes
    before: tuple[tuple[str, Span], ...]
    """The body's fields before it."""
    base: int
    parts: tuple[Part, ...]
    starts: tuple[int, ...]
    """Offset of each item from the array's first byte."""
    ends: tuple[int, ...]

    def shared_parts(self, body: bytes, at: Span) -> int:
        """How many items at the head an array of another body has in common, to the byte."""
        low, high = 0, len(self.ends)
        if not high or not self._is_head(body, at, 1):
            return 0
        # Nearly always all but the last items are the same.
        for count in (high, high - 1, high - 2):
            if count > 0 and self._is_head(body, at, count):
                return count
        while low < high:
            middle = (low + high + 1) // 2
            if self._is_head(body, at, middle):
                low = middle
            else:
                high = middle - 1
        return low

    def _is_head(self, body: bytes, at: Span, count: int) -> bool:
        # With the byte behind, which ends a number: `[1` is no head of `[12`.
        size = self.ends[count - 1]
        # Heads that differ mostly differ at their ends too: a look there saves the long compare.
        ends = self.base + size, at.start + size
        if self.body[ends[0] - _LOOK : ends[0]] != body[ends[1] - _LOOK : ends[1]]:
            return False
        head = memoryview(self.body)[self.base : self.base + size]
        behind = body[at.start + size : at.start + size + 1]
        return at.start + size < at.end and body.startswith(head, at.start) and behind in _BEHIND


def _latest() -> deque[_Array]:
    return deque(maxlen=_RECENT)


def _longest(
    recent: Iterable[_Array], body: bytes, at: Span | None = None
) -> tuple[_Array | None, int]:
    """The array with most items at the head of another body's, and how many these are.

    Args:
        recent: arrays that were parsed before, the latest first.
        body: the other body.
        at: its array; None where each of the arrays begins where it begins in its own body.
    """
    found, most = None, 0
    for earlier in recent:
        shared = earlier.shared_parts(body, at or Span(earlier.base, len(body)))
        if shared > most:
            found, most = earlier, shared
        if most and most + _NEARLY >= len(earlier.parts):
            break
    return found, most


def _slice(array: _Array, section: Section, numbers: range) -> Run:
    field, everything = array.field, len(numbers) == len(array.parts)
    taken = slice(numbers.start, numbers.stop)
    return Run(
        section=section,
        path=field.name,
        parts=array.parts if everything else array.parts[taken],
        base=array.base,
        starts=array.starts if everything else array.starts[taken],
        indexes=numbers,
        is_messages=field.is_messages,
    )


def _new_part(field: Field, raw: bytes) -> Part:
    return part(raw, tuple(field.blocks(Place(raw, Span(0, len(raw)), "", ""))))


def part(raw: bytes, blocks: tuple[Block, ...]) -> Part:
    """A part of these blocks.

    Args:
        raw: the item's own JSON.
        blocks: what a backend makes of it.
    """
    return Part(raw, blocks, _digest(blocks), blocks[0].role if blocks else "")


def _digest(blocks: Iterable[Block]) -> bytes:
    digest = blake2b(digest_size=16)
    for block in blocks:
        digest.update(block.role.encode("utf-8", "surrogatepass") + b"\0" + block.canonical + b"\0")
    return digest.digest()
