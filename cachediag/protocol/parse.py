"""A request body of any of the protocols → `Prompt`."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import takewhile

from cachediag.errors import InputError
from cachediag.model import Block, Endpoint, Part, Prompt, Run, Section
from cachediag.protocol import bounded, chat, jsontext, messages, responses
from cachediag.protocol.arrays import Array, Items, again, latest, longest
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


def parse(body: bytes, endpoint: Endpoint | None = None) -> Prompt:
    """Turn one request body into its blocks in cache order; see `Parser.parse`."""
    return Parser().parse(body, endpoint)


class Parser:
    """Parses the bodies of a session, each tool, system block and message of them once."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, bytes], Part] = {}
        self._recent: defaultdict[str, deque[Array]] = defaultdict(latest)
        self._talks = latest()

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
        known, shared = longest(same, body)
        if known is not None:
            rest = jsontext.members_from(body, known.base + known.items.ends[shared - 1])
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
            leading = sum(1 for _ in takewhile(field.leads_with_system, array.items.parts))
        if leading:
            yield _slice(array, "system", range(leading))
        if leading < len(array.items.parts):
            yield _slice(array, field.section, range(leading, len(array.items.parts)))

    def _array(self, opened: "_Body", field: Field, at: Span) -> Array:
        """The items of an array; those that an earlier array has too are taken from it."""
        recent = self._recent[field.key]
        body, known, shared = opened.raw, opened.known, opened.shared
        if known is None or known.field is not field or known.base != at.start:
            known, shared = longest(recent, body, at)
        items = known.items.cut(0, shared) if known else Items()
        position = at.start + items.ends[-1] if known else at.start
        found = again((known,) if known else recent, body, at, position, shared)
        if found is not None:
            items = items.then(self._items(field, body, at, found.between)).then(found.rest)
            position = at.start + items.ends[-1]
        items = items.then(
            self._items(field, body, at, list(jsontext.items_after(body, position, at)))
        )
        before = tuple(member for member in opened.members if member[1].start < at.start)
        made = Array(field, body, before, at.start, items)
        recent.appendleft(made)
        if field.is_messages:
            self._talks.appendleft(made)
        return made

    def _items(self, field: Field, body: bytes, at: Span, spans: Sequence[Span]) -> Items:
        return Items(
            tuple([self._part(field, body[start:end]) for start, end in spans]),
            tuple([start - at.start for start, _ in spans]),
            tuple([end - at.start for _, end in spans]),
        )

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
    known: Array | None = None
    """An array of an earlier body that begins as this one does, up to one of the array's items."""
    shared: int = 0
    """The items up to there."""


def _slice(array: Array, section: Section, numbers: range) -> Run:
    field, everything = array.field, len(numbers) == len(array.items.parts)
    taken = slice(numbers.start, numbers.stop)
    return Run(
        section=section,
        path=field.name,
        parts=array.items.parts if everything else array.items.parts[taken],
        base=array.base,
        starts=array.items.starts if everything else array.items.starts[taken],
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
