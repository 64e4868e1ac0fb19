"""From a rule's path to the places in a body that it names."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from cachediag.protocol import jsontext
from cachediag.protocol.jsontext import Span

__all__ = [
    "EVERY",
    "Named",
    "PathError",
    "Place",
    "items",
    "member",
    "places",
    "remembered",
    "root",
    "steps",
    "values",
]

T = TypeVar("T")

_MOST_KEPT = 16_384
_STEP = re.compile(
    r"\.?(?P<name>[A-Za-z_][A-Za-z0-9_-]*)|\[(?:(?P<index>\d{1,9})|(?P<every>\*)|name=(?P<tool>[^\]]+))\]"
)


class PathError(ValueError):
    """A path that is none."""


@dataclass(frozen=True)
class Named:
    """The step to the items of a name: `[name=Bash]`."""

    name: str


@dataclass(frozen=True)
class _Every:
    """The step to all items: `[*]`."""


EVERY = _Every()
Step = str | int | Named | _Every


@dataclass(frozen=True)
class Place:
    """A value in a body."""

    path: str
    span: Span
    parent: "Place | None" = None
    """The array or the object that it stands in."""
    index: int | None = None
    """Which item of the array it is."""

    def within(self) -> "tuple[Place, ...]":
        """The values that it stands in, the outermost first, itself last."""
        return (*(self.parent.within() if self.parent else ()), self)


@lru_cache(maxsize=1024)
def steps(path: str) -> tuple[Step, ...]:
    """The steps of a path.

    Raises:
        PathError: it is none.
    """
    found: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or (not found and (match["name"] is None or path[0] == ".")):
            raise PathError(
                f"{path!r} is no path at character {position + 1}; write it as system[0].text, "
                "messages[*] or tools[name=Bash].description"
            )
        if match["name"] is not None:
            found.append(match["name"])
        elif match["index"] is not None:
            found.append(int(match["index"]))
        else:
            found.append(EVERY if match["every"] else Named(match["tool"]))
        position = match.end()
    if not found:
        raise PathError("the path is empty; write one such as system[0].text")
    return tuple(found)


def root(body: bytes) -> Place:
    """The place of the whole body's value."""
    return Place("", jsontext.whole(body))


def places(body: bytes, path: str) -> list[Place]:
    """The places that a path names, in the body's order; none where it leads nowhere."""
    found = [root(body)]
    for step in steps(path):
        found = [child for place in found for child in _children(body, place, step)]
    return found


def member(body: bytes, place: Place, name: str) -> Place | None:
    """A member of an object; of a repeated key the last, as decoders take it."""
    if body[place.span.start : place.span.start + 1] != b"{":
        return None
    names, _ = remembered(body, "members", place.span, lambda: _members(body, place.span))
    if name not in names:
        return None
    return Place(jsontext.step(place.path, name), names[name], place)


def values(body: bytes, place: Place) -> tuple[Span, ...]:
    """The spans of an array's items, or of an object's values, those of repeated keys too."""
    if body[place.span.start : place.span.start + 1] == b"[":
        return items(body, place)
    return remembered(body, "members", place.span, lambda: _members(body, place.span))[1]


def items(body: bytes, place: Place) -> tuple[Span, ...]:
    """The spans of an array's items.

    Raises:
        ValueError: the value is no array, or not JSON.
        CachediagError: the same, where the package's own JSON reader found it.
    """
    return remembered(body, "items", place.span, lambda: tuple(jsontext.items(body, place.span)))


@dataclass(frozen=True, eq=False)
class _Read:
    """What was found out of one body: each thing once, however many places ask for it."""

    body: bytes
    found: dict[tuple[str, Span], Any] = field(default_factory=dict)


# By identity: to look a body up by its value, all of it would be read again.
_latest = [_Read(b"")]


def remembered(body: bytes, what: str, span: Span, find: Callable[[], T]) -> T:
    """What is the same for every place that asks for it, found out once.

    Args:
        body: the whole body; what was found out of the one before is forgotten.
        what: a name for it.
        span: the value that it is told of.
        find: finds it out.
    """
    latest = _latest[0]
    if latest.body is not body:
        latest = _latest[0] = _Read(body)
    key = what, span
    if key not in latest.found:
        latest.found[key] = find()
    value: T = latest.found[key]
    return value


def _members(body: bytes, span: Span) -> tuple[dict[str, Span], tuple[Span, ...]]:
    members = tuple(jsontext.members(body, span))
    return dict(members), tuple(value for _, value in members)


def _children(body: bytes, place: Place, step: Step) -> Iterator[Place]:
    opening = body[place.span.start : place.span.start + 1]
    if isinstance(step, str):
        inside = member(body, place, step)
        if inside is not None:
            yield inside
        return
    if opening != b"[":
        return
    if isinstance(step, int):
        # The first message of a long conversation is found without the others.
        span = remembered(
            body, f"item {step}", place.span, lambda: jsontext.item(body, place.span, step)
        )
        if span is not None:
            yield Place(f"{place.path}[{step}]", span, place, step)
        return
    for index, span in enumerate(items(body, place)):
        item = Place(f"{place.path}[{index}]", span, place, index)
        if not isinstance(step, Named) or name_of(body, item) == step.name:
            yield item


def name_of(body: bytes, item: Place) -> str:
    """The name of a tool, its own or that of the `function` in it; empty where it has none."""
    start, end = item.span
    return _name(body[start:end]) if end - start <= _MOST_KEPT else _read_name(body, item.span)


@lru_cache(maxsize=1024)
def _name(tool: bytes) -> str:
    # Clients send the same tools again and again.
    return _read_name(tool, jsontext.whole(tool))


def _read_name(body: bytes, item: Span) -> str:
    named = _value(body, item, "function") or item
    name = _value(body, named, "name")
    value = jsontext.decode(body[name.start : name.end]) if name else None
    return value if isinstance(value, str) else ""


def _value(body: bytes, span: Span, name: str) -> Span | None:
    is_object = body[span.start : span.start + 1] == b"{"
    return dict(jsontext.members(body, span)).get(name) if is_object else None
