"""From a rule's path to the places in a body that it names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from cachediag.protocol import jsontext
from cachediag.protocol.jsontext import Span

__all__ = ["EVERY", "Named", "PathError", "Place", "member", "places", "root", "steps"]

_MOST_KEPT = 16_384
# By identity: to look a body up by its value, all of it would be read again.
_latest: list[tuple[bytes, tuple[tuple[str, Span], ...]]] = [(b"", ())]
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
    siblings: tuple[Span, ...] = ()
    """The values that stand in the same array or object, itself among them."""

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
    members = (
        _top_level(body) if place.parent is None else tuple(jsontext.members(body, place.span))
    )
    found = [span for key, span in members if key == name]
    if not found:
        return None
    siblings = tuple(span for _, span in members)
    return Place(jsontext.step(place.path, name), found[-1], place, siblings=siblings)


def _top_level(body: bytes) -> tuple[tuple[str, Span], ...]:
    """The fields of a body, which every rule begins with."""
    latest, fields = _latest[0]
    if latest is not body:
        fields = tuple(jsontext.members(body, jsontext.whole(body)))
        _latest[0] = body, fields
    return fields


def _children(body: bytes, place: Place, step: Step) -> Iterator[Place]:
    opening = body[place.span.start : place.span.start + 1]
    if isinstance(step, str):
        inside = member(body, place, step)
        if inside is not None:
            yield inside
        return
    if opening != b"[":
        return
    spans = tuple(jsontext.items(body, place.span))
    for index, span in enumerate(spans):
        if isinstance(step, int) and index != step:
            continue
        item = Place(f"{place.path}[{index}]", span, place, index, spans)
        if not isinstance(step, Named) or name_of(body, item) == step.name:
            yield item
        if index == step:
            return


def name_of(body: bytes, item: Place) -> str:
    """The name of a tool, its own or that of the `function` in it; empty where it has none."""
    start, end = item.span
    return _name(body[start:end]) if end - start <= _MOST_KEPT else _read_name(body, item)


@lru_cache(maxsize=1024)
def _name(tool: bytes) -> str:
    # Clients send the same tools again and again.
    return _read_name(tool, root(tool))


def _read_name(body: bytes, item: Place) -> str:
    named = member(body, item, "function") or item
    name = member(body, named, "name")
    value = jsontext.decode(body[name.span.start : name.span.end]) if name else None
    return value if isinstance(value, str) else ""
