"""What the three protocols share in turning values into blocks."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cachediag.errors import InputError
from cachediag.model import Block, Json, Marker
from cachediag.protocol import bounded, jsontext
from cachediag.protocol.jsontext import Span

__all__ = [
    "TEXT_FIRST",
    "TOOL_FIRST",
    "Place",
    "block",
    "blocks_of_list",
    "named",
    "text_or_list",
    "top_level",
    "word",
]

# The responses protocol says by the type who wrote a text; the role says it already.
_TEXT_TYPES = ("input_text", "output_text")
TEXT_FIRST = ("type", "id", "name", "text")
TOOL_FIRST = ("type", "name", "description", "input_schema")


class Place(NamedTuple):
    """Where a value stands, and what it belongs to."""

    body: bytes
    span: Span
    path: str
    role: str

    @property
    def raw(self) -> bytes:
        """The value's own bytes."""
        return self.body[self.span.start : self.span.end]

    def at(self, name: str | int, span: Span) -> "Place":
        """The place of a member or an item of this value."""
        return Place(self.body, span, jsontext.step(self.path, name), self.role)

    def of(self, role: str) -> "Place":
        """The same place, said by another role."""
        return Place(self.body, self.span, self.path, role)

    def items(self) -> Iterator["Place"]:
        """The places of an array's items."""
        for index, span in enumerate(jsontext.items(self.body, self.span)):
            yield self.at(index, span)

    def members(self) -> dict[str, "Place"]:
        """The places of an object's members; of a repeated key the last, as decoders take it."""
        return {name: self.at(name, span) for name, span in jsontext.members(self.body, self.span)}


def top_level(body: bytes) -> Iterator[tuple[str, Span]]:
    """A body's top-level fields with the spans of their values, in order, repeated fields too.

    Raises:
        InputError: the body is not a JSON object.
    """
    root = jsontext.whole(body)
    if body[root.start : root.start + 1] != b"{":
        # Tells a body that is no JSON at all from one that is JSON of another kind.
        jsontext.decode(body)
        raise InputError(
            "not a request body: the JSON is no object",
            remedy="Give the JSON body of a /v1/messages or /v1/chat/completions request.",
        )
    return jsontext.members(body, root)


def block(
    where: Place,
    *,
    kind: str | None = None,
    first: tuple[str, ...] = TEXT_FIRST,
    keep_order: bool = False,
) -> Block:
    """One block out of a value: an object, or a string that stands for a text block.

    Its section is set where the part is placed in a prompt.

    Args:
        where: the value's place.
        kind: what the block is; by default the object's `type`.
        first: the order of the object's leading keys in the canonical form. The engines read
            these fields by name, so the order in which they were sent never reaches the prompt.
        keep_order: leave the keys as sent; for objects that a template prints as they are.
    """
    value = bounded.decode(where.raw)
    is_string = isinstance(value, str)
    marker = None
    if is_string:
        value = {"type": "text", "text": value}
    elif isinstance(value, dict):
        marker = _take_marker(value)
        if value.get("type") in _TEXT_TYPES:
            value["type"] = "text"
        if not keep_order:
            value = _ordered(value, first)
    if kind is None:
        kind = value.get("type") if isinstance(value, dict) else None
    return Block(
        section="messages",
        role=where.role,
        kind=kind if isinstance(kind, str) else "unknown",
        path=where.path,
        start=where.span.start,
        end=where.span.end,
        canonical=jsontext.encode(value),
        marker=marker,
        is_string=is_string,
    )


def _ordered(value: dict[str, Json], first: tuple[str, ...]) -> dict[str, Json]:
    ordered = {key: value[key] for key in first if key in value}
    if len(ordered) == len(value):
        return ordered
    return ordered | {key: value[key] for key in sorted(value.keys() - ordered.keys())}


def _take_marker(value: dict[str, Json]) -> Marker | None:
    """Remove the cache markers from a block and from the blocks in it; return the last.

    Only blocks carry markers: arguments that a model generated may well have a key of that name.
    """
    found = _marker(value.pop("cache_control", None))
    nested = value.get("content")
    if value.get("type") in ("tool_result", "document", "search_result"):
        if isinstance(nested, str):
            value["content"] = [{"type": "text", "text": nested}]
        elif isinstance(nested, list):
            for inner in nested:
                if isinstance(inner, dict):
                    found = _marker(inner.pop("cache_control", None)) or found
    return found


def _marker(value: Json) -> Marker | None:
    if not isinstance(value, dict):
        return None
    kind, ttl = value.get("type"), value.get("ttl")
    return Marker(
        kind if isinstance(kind, str) else "ephemeral", ttl if isinstance(ttl, str) else None
    )


def word(fields: Mapping[str, Place], name: str, default: str) -> str:
    """What an object says under a name that decides how it is read, such as `role`."""
    return str(bounded.decode(fields[name].raw)) if name in fields else default


def blocks_of_list(where: Place, *, kind: str | None = None) -> Iterator[Block]:
    """A block for each item of an array."""
    for item in where.items():
        yield block(item, kind=kind)


def text_or_list(where: Place, *, kind: str | None = None) -> Iterator[Block]:
    """The blocks of a content: a string, an array of blocks, or anything else kept whole."""
    opening = where.raw[:1]
    if opening == b"[":
        yield from blocks_of_list(where, kind=kind)
    elif where.raw != b"null":
        yield block(where, kind=kind)


def named(value: Json) -> dict[str, Json]:
    """The object that bears the name of a tool or a call: itself, or OpenAI's `function` in it.

    Args:
        value: a decoded block; anything but an object bears no name.
    """
    if not isinstance(value, dict):
        return {}
    function = value.get("function")
    return function if isinstance(function, dict) else value
