"""The later request as it would have been sent without some causes, as a body again."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from cachediag.compare.comparison import Cause, Comparison, Entry, Stretch, undo
from cachediag.model import Block, Json
from cachediag.protocol import jsontext

__all__ = ["undone_body"]

_Order = tuple[int, int, int]


@dataclass(slots=True)
class _Item:
    """One tool, system block or message that is being put together."""

    raw: bytes | None = None
    """Its own JSON, where nothing in it is undone."""
    blocks: list[tuple[Block, Json]] = field(default_factory=list)
    """Its blocks, each with its value as it is to be sent."""


def undone_body(comparison: Comparison, undone: Collection[Cause]) -> bytes:
    """The body of the later request with some causes undone.

    What no cause touches stands in it byte for byte, so that a `Parser` knows it again.

    Args:
        comparison: the pair; of `/v1/messages` or `/v1/chat/completions`.
        undone: code and path of each finding to undo.
    """
    arrays: dict[str, dict[_Order, _Item]] = {}
    for stretch in comparison.stretches:
        last = _add_head(arrays, comparison, stretch)
        # Leading system messages stand in the same array, before the talk.
        before = max(arrays.get("messages", ()), default=(-1, 0, 0))
        is_talk = stretch.section == "messages"
        previous = max((last, 0, 0), before) if is_talk else (last, 0, 0)
        _add_rest(arrays, stretch, undone, previous, comparison.b.body)
    fields = {
        name: comparison.a.params.get(name) if ("S10", name) in undone else raw
        for name, raw in comparison.b.params.items()
    }
    members = [(name, raw) for name, raw in fields.items() if raw is not None]
    members += [(name, _array(items)) for name, items in arrays.items()]
    inside = b",".join(jsontext.encode(name) + b":" + raw for name, raw in members)
    return b"{" + inside + b"}"


def _array(items: dict[_Order, _Item]) -> bytes:
    written = (_written(item) for _, item in sorted(items.items(), key=lambda pair: pair[0]))
    return b"[" + b",".join(written) + b"]"


def _add_head(
    arrays: dict[str, dict[_Order, _Item]], comparison: Comparison, stretch: Stretch
) -> int:
    """Add the parts that are the same; the index of the last of them, or -1."""
    left, last = stretch.head, -1
    for run in comparison.b.runs:
        taken = min(left, len(run.parts)) if run.section == stretch.section else 0
        if not taken:
            continue
        left -= taken
        first, last = (0, 0) if run.indexes is None else (run.indexes[0], run.indexes[taken - 1])
        start = run.base + run.starts[0]
        end = run.base + run.starts[taken - 1] + len(run.parts[taken - 1].raw)
        items = arrays.setdefault(run.path, {})
        if last - first == taken - 1:
            # They follow one another in the body too: one slice, commas and all.
            items[last, 0, 0] = _Item(raw=comparison.b.body[start:end])
        else:
            for number in range(taken):
                index = 0 if run.indexes is None else run.indexes[number]
                items[index, 0, 0] = _Item(raw=run.parts[number].raw)
    return last


def _add_rest(
    arrays: dict[str, dict[_Order, _Item]],
    stretch: Stretch,
    undone: Collection[Cause],
    previous: _Order,
    body: bytes,
) -> None:
    kept = {
        entry.a.message: entry.b.message
        for entry in stretch.entries
        if entry.a is not None and entry.b is not None
    }
    last: tuple[str, _Order] | None = None
    for entry in _ordered(stretch, undone):
        block = undo(entry, undone)
        place = _place(entry, kept, previous)
        name, order = place
        if place == last:
            order = previous
        elif order <= previous:
            # What was put back stands between: the rest of that message begins another one.
            order = previous[0], previous[1] + 1, 0
        last, previous = place, order
        items = arrays.setdefault(name, {})
        if block is not None:
            value = _value(block, entry.b, body)
            items.setdefault(order, _Item()).blocks.append((block, value))


def _ordered(stretch: Stretch, undone: Collection[Cause]) -> Iterator[Entry]:
    entries = list(stretch.entries)
    if stretch.reordered and ("O01", "tools") in undone:
        entries.sort(key=lambda entry: (entry.a is None, entry.a.start if entry.a else 0))
    yield from entries


def _place(
    entry: Entry, kept: dict[int | None, int | None], previous: _Order
) -> tuple[str, _Order]:
    """The array that an entry belongs to, and its item's place in it."""
    block = entry.b or entry.a
    assert block is not None
    name, _, _rest = block.path.partition("[")
    if block.message is None:
        # Items of their own, in the order in which they come.
        return name, (previous[0], previous[1] + 1, 0)
    if entry.b is not None and entry.b.message is not None:
        return name, (entry.b.message, 0, 0)
    message = kept.get(block.message)
    return name, (previous[0], 1, block.message) if message is None else (message, 0, 0)


def _written(item: _Item) -> bytes:
    if item.raw is not None:
        return item.raw
    first, value = item.blocks[0]
    if first.message is None:
        return jsontext.encode(value)
    made: dict[str, Json] = {"role": first.role}
    for block, value in item.blocks:
        name, listed = _field(block)
        if not name:
            return jsontext.encode(value)
        if not listed:
            made[name] = value
        else:
            before = made.get(name, [])
            before = before if isinstance(before, list) else [_as_block(before)]
            made[name] = [*before, _as_block(value)]
    return jsontext.encode(made)


def _as_block(value: Json) -> Json:
    return {"type": "text", "text": value} if isinstance(value, str) else value


def _field(block: Block) -> tuple[str, bool]:
    """The message's field that holds a block, and whether it is a list there."""
    _, _, field_path = block.path.partition("].")
    name, bracket, _ = field_path.partition("[")
    return name, bool(bracket)


def _value(block: Block, later: Block | None, body: bytes) -> Json:
    """A block as it is to be sent: as it was, or put back under the later one's cache marker."""
    if block is later:
        return jsontext.decode(body[block.start : block.end])
    value = jsontext.decode(block.canonical)
    if block.is_string and isinstance(value, dict):
        return value["text"]
    marker = later.marker if later else None
    if marker is not None and isinstance(value, dict):
        made = {"type": marker.kind} | ({"ttl": marker.ttl} if marker.ttl else {})
        return value | {"cache_control": made}
    return value
