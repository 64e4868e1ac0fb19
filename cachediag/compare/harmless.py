"""The differences that cost nothing: markers, spellings, fields outside the prompt, new blocks."""

import json
import re
from collections.abc import Iterator, Sequence

from cachediag.compare.causes import KEYING
from cachediag.compare.comparison import Entry, Stretch
from cachediag.compare.wording import message_of
from cachediag.model import Block, Finding, Json, Prompt
from cachediag.protocol import jsontext

__all__ = ["harmless", "other_fields"]

# Never inside of a string, where its quotes would be escaped.
_MARKER = re.compile(rb',"cache_control":\{"type":"ephemeral"(?:,"ttl":"\w+")?\}')


def harmless(a: Prompt, b: Prompt, stretches: Sequence[Stretch], *, broken: bool) -> list[Finding]:
    """The findings of severity `info` about a pair.

    Args:
        a: the earlier prompt.
        b: the later prompt.
        stretches: their aligned sections.
        broken: something ends the shared prefix, so that "the same" is not to be said.
    """
    entries = tuple(entry for stretch in stretches for entry in stretch.entries)
    equal = [(e.a, e.b) for e in entries if e.a and e.b and not e.changes and e.cause is None]
    found = [*_appended(entries), *_markers(entries), *_spellings(a, b, equal)]
    fields = other_fields(a, b)
    if fields and not broken and len(equal) == len(entries):
        found.append(_info("N02", fields[0], ", ".join(fields)))
    return found


def _info(code: str, path: str | None, note: str = "", byte: int | None = None) -> Finding:
    return Finding(code=code, severity="info", path=path, byte=byte, message=message_of(code, note))


def _appended(entries: tuple[Entry, ...]) -> Iterator[Finding]:
    new = [e.b for e in entries if e.a is None and e.b is not None and e.cause is None]
    if new:
        count = f"{len(new)} block" + ("s" if len(new) > 1 else "")
        yield _info("N01", new[0].path, count, new[0].start)


def _markers(entries: tuple[Entry, ...]) -> Iterator[Finding]:
    changed = [e for e in entries if e.a and e.b and bool(e.a.marker) != bool(e.b.marker)]
    new = [e.b for e in entries if e.a is None and e.b and e.b.marker]
    lost = [e.b for e in changed if e.b and not e.b.marker]
    if not changed and not (new and lost):
        return
    places = [e.b for e in changed if e.b and e.b.marker] + new
    if places:
        yield _info("M01", places[-1].path, f"now at {places[-1].path}", places[-1].start)
    else:
        yield _info("M01", lost[0].path, f"none is left at {lost[0].path}", lost[0].start)


def other_fields(a: Prompt, b: Prompt) -> tuple[str, ...]:
    """The paths of the parameters that differ and key no cache, one level into objects."""
    names = [name for name in (*b.params, *a.params) if name not in KEYING]
    changed = [n for n in dict.fromkeys(names) if a.params.get(n) != b.params.get(n)]
    return tuple(path for name in changed for path in _inside(name, a.params, b.params))


def _inside(name: str, a: Json, b: Json) -> list[str]:
    before, after = (jsontext.decode(side[name]) if name in side else None for side in (a, b))
    if not isinstance(before, dict) or not isinstance(after, dict):
        return [name]
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return [jsontext.step(name, key) for key in keys] or [name]


def _spellings(a: Prompt, b: Prompt, equal: list[tuple[Block, Block]]) -> Iterator[Finding]:
    """E02, E03, E04 and O02 where the decoded blocks are the same: each at its first place."""
    seen: set[str] = set()
    for x, y in equal:
        raw = a.body[x.start : x.end], b.body[y.start : y.end]
        if raw[0] == raw[1] or _MARKER.sub(b"", raw[0]) == _MARKER.sub(b"", raw[1]):
            continue
        for code in _spelled(raw, x, y):
            if code not in seen:
                seen.add(code)
                yield _info(code, y.path, "the decoded blocks are the same", y.start)


def _spelled(raw: tuple[bytes, bytes], x: Block, y: Block) -> Iterator[str]:
    if x.is_string != y.is_string or _holds_string(raw[0]) != _holds_string(raw[1]):
        yield "E03"
        return
    if raw[0].count(b"\\u") != raw[1].count(b"\\u"):
        yield "E02"
    before, after = (_unmarked(side) for side in raw)
    if json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True):
        yield "E04"
    elif before != after or json.dumps(before) != json.dumps(after):
        yield "O02"


def _holds_string(raw: bytes) -> bool:
    """Whether a block, such as a tool result, has a bare string for its content."""
    value = jsontext.decode(raw)
    return isinstance(value, dict) and isinstance(value.get("content"), str)


def _unmarked(raw: bytes) -> Json:
    """A block's JSON with each number as it is spelled, without its marker."""
    value = jsontext.spelled(raw.decode("utf-8", "surrogatepass"))
    if isinstance(value, dict):
        value.pop("cache_control", None)
        content = value.get("content")
        for inner in content if isinstance(content, list) else ():
            if isinstance(inner, dict):
                inner.pop("cache_control", None)
        if value.get("type") == "tool_result" and isinstance(content, str):
            value["content"] = [{"type": "text", "text": content}]
    return value
