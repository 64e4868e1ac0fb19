"""Entries → the findings that end the shared prefix, one for each cause."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from cachediag.compare.comparison import Cause, Change, Entry, Stretch
from cachediag.compare.excerpts import excerpts
from cachediag.compare.places import byte_of
from cachediag.compare.wording import fix_of, message_of, severity_of
from cachediag.model import Block, Confidence, Excerpt, Finding, Json, Prompt
from cachediag.protocol import jsontext
from cachediag.protocol.blocks import named

__all__ = ["KEYING", "causes", "marked_volatile", "parameters"]

KEYING = (
    "model",
    "tool_choice",
    "thinking",
    "reasoning",
    "reasoning_effort",
    "chat_template_kwargs",
)
_LONGEST = 60


def causes(stretches: Sequence[Stretch], later: Prompt) -> list[Finding]:
    """A finding for each cause, in cache order.

    Args:
        stretches: the aligned sections.
        later: the later prompt.
    """
    found: dict[Cause, Finding] = {}
    for stretch in stretches:
        if stretch.reordered:
            found["O01", "tools"] = _tool_order(stretch.entries)
        groups = defaultdict[Cause, list[int]](list)
        for number, entry in enumerate(stretch.entries):
            if entry.cause is not None:
                groups[entry.cause].append(number)
        next_bytes = _next_bytes(stretch.entries) if groups else []
        for number, entry in enumerate(stretch.entries):
            if entry.cause is not None and entry.cause not in found:
                group = [stretch.entries[other] for other in groups[entry.cause]]
                found[entry.cause] = _block_finding(entry.cause, group, next_bytes[number])
            for change in entry.changes:
                if change.cause not in found and entry.b is not None:
                    found[change.cause] = _change_finding(change, entry.b, later)
    return list(found.values())


def _finding(code: str, path: str | None, note: str = "", **rest: Json) -> Finding:
    return Finding(
        code=code,
        severity=severity_of(code),
        path=path,
        message=message_of(code, note),
        fix=fix_of(code),
        **rest,
    )


def _tool_order(entries: tuple[Entry, ...]) -> Finding:
    both = [(e.a, e.b) for e in entries if e.a and e.b]
    earlier = sorted(both, key=lambda pair: pair[0].start)
    first = next(i for i, pair in enumerate(both) if pair is not earlier[i])
    before, after = _names([a for a, _ in earlier[first:]]), _names([b for _, b in both[first:]])
    return _finding(
        "O01",
        "tools",
        byte=both[first][1].start,
        before=Excerpt(before, 0, len(before)),
        after=Excerpt(after, 0, len(after)),
    )


def _names(tools: list[Block]) -> str:
    # So many are never shown.
    return _short(", ".join(_label(tool) for tool in tools[:_LONGEST]))


def _label(block: Block) -> str:
    """What a person calls a block: a tool's name, or the first words of a text."""
    value = named(jsontext.decode(block.canonical))
    for key in ("name", "text"):
        if isinstance(value.get(key), str):
            return _short(value[key].strip().partition("\n")[0])
    return block.kind


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _block_finding(cause: Cause, group: Sequence[Entry], next_byte: int | None) -> Finding:
    code, path = cause
    gone = [other.a for other in group if other.a is not None]
    come = [other.b for other in group if other.b is not None]
    parts = [f"{len(gone)} gone"] if gone else []
    parts += [f"{len(come)} added"] if come else []
    return _finding(
        code,
        path,
        ", ".join(parts),
        byte=come[0].start if come else next_byte,
        before=_listed(gone),
        after=_listed(come),
        confidence=_confidence(code),
    )


def _listed(blocks: list[Block]) -> Excerpt | None:
    text = _names(blocks)
    return Excerpt(text, 0, len(text)) if blocks else None


def _next_bytes(entries: Sequence[Entry]) -> list[int | None]:
    """For each entry where in the later body its block would begin, were it still there."""
    found, following = list[int | None](), dict[str, int]()
    for entry in reversed(entries):
        if entry.b is not None:
            following[entry.section] = entry.b.start
        found.append(following.get(entry.section))
    return found[::-1]


def _confidence(code: str) -> Confidence:
    # Hosted models leave out earlier thinking themselves once a new user turn begins.
    return "suspected" if code == "S09" else "confirmed"


def _change_finding(change: Change, block: Block, later: Prompt) -> Finding:
    before = after = None
    if change.before or change.after:
        before, after = excerpts(change.before, change.after, change.a_span, change.b_span)
    characters = change.b_span[0] if change.is_text else 0
    return _finding(
        change.code,
        change.path,
        change.note,
        byte=byte_of(later.body, block, change.keys, characters),
        before=before,
        after=after,
        confidence=_confidence(change.code),
    )


def parameters(a: Prompt, b: Prompt) -> Iterator[Finding]:
    """S10: the parameters that key the cache and changed."""
    for name in KEYING:
        before, after = a.params.get(name), b.params.get(name)
        if before == after:
            continue
        shown = [_short((raw or b"absent").decode("utf-8", "replace")) for raw in (before, after)]
        offset = jsontext.find(b.body, name)
        yield _finding(
            "S10",
            name,
            byte=offset,
            before=Excerpt(shown[0], 0, len(shown[0])),
            after=Excerpt(shown[1], 0, len(shown[1])),
            # A model names its own cache; whether another parameter is part of the key, or of
            # the prompt, is the engine's choice.
            confidence="confirmed" if name == "model" else "suspected",
        )


def marked_volatile(stretches: Sequence[Stretch]) -> Iterator[Finding]:
    """M06: cache markers on blocks that change by their nature."""
    for entry in (entry for stretch in stretches for entry in stretch.entries):
        volatile = any(change.code[0] == "V" for change in entry.changes)
        if volatile and entry.a and entry.b and entry.a.marker and entry.b.marker:
            yield _finding("M06", entry.b.path, byte=entry.b.start)
