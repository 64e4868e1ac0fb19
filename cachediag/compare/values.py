"""Two versions of one block → the changes inside it."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cachediag.compare.comparison import Change, Keys
from cachediag.compare.detectors import unicode_form, white_space
from cachediag.compare.text import hunks
from cachediag.model import Block, Json
from cachediag.protocol import bounded, jsontext

if TYPE_CHECKING:
    from deepdiff.model import DiffLevel

__all__ = ["MEDIA", "UNKNOWN", "changes"]

_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')
UNKNOWN = "?"
MEDIA = ("image", "document", "input_image", "image_url", "input_file", "file", "input_audio")


def changes(a: Block, b: Block) -> list[Change]:
    """The changes that made `a` into `b`, their places in the body not yet told.

    Where no detector knows the kind of a change, its code is `UNKNOWN` and the place decides.
    """
    before, after = jsontext.decode(a.canonical), jsontext.decode(b.canonical)
    if a.kind != b.kind:
        code = "S08" if a.kind in MEDIA or b.kind in MEDIA else UNKNOWN
        return [Change(code, (), note=f"{a.kind} became {b.kind}")]
    if "thinking" in a.kind:
        return [replace(change, code="S09") for change in _inside(before, after, ())]
    if a.kind in MEDIA:
        return [Change("S08", (), note=f"{a.kind} replaced")]
    if a.role != b.role:
        return [Change(UNKNOWN, (), note=f"role {a.role} became {b.role}")]
    texts = a.kind == "text" and _is_text(before) and _is_text(after)
    if texts and {**before, "text": ""} == {**after, "text": ""}:
        return list(_text(before["text"], after["text"], ("text",)))
    return list(_inside(before, after, ()))


def _is_text(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("text"), str)


def _text(before: str, after: str, keys: Keys) -> Iterator[Change]:
    nested = _as_json(before), _as_json(after)
    if nested[0] is not None and nested[1] is not None:
        yield from _nested(before, after, nested, keys)
        return
    for hunk in hunks(before, after):
        yield Change(
            code=hunk.code or UNKNOWN,
            keys=keys,
            before=before,
            after=after,
            a_span=(hunk.a_start, hunk.a_end),
            b_span=(hunk.b_start, hunk.b_end),
            is_text=True,
        )


def _as_json(text: str) -> Json:
    """An object or array that a text holds, such as a tool call's arguments; else None."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return bounded.loads(text)
    except ValueError:
        return None


def _nested(before: str, after: str, nested: tuple[Json, Json], keys: Keys) -> Iterator[Change]:
    """What changed in a text that is JSON, such as a call's arguments.

    The text goes back whole: the causes in it cannot be undone one by one.
    """
    codes = {change.code for change in _inside(nested[0], nested[1], ())}
    if not codes and jsontext.spelled(before) != jsontext.spelled(after):
        codes = {"E04"}
    if _spaces(before) != _spaces(after):
        codes.add(white_space.CODE)
    if not codes:
        codes = {unicode_form.CODE if unicode_form.explains(before, after) else UNKNOWN}
    spans = (0, len(before)), (0, len(after))
    for code in sorted(codes):
        yield Change(code, keys, before, after, *spans, is_text=True)


def _spaces(text: str) -> int:
    """How much white space stands between the values of a JSON text."""
    return sum(character.isspace() for character in _STRING.sub("", text))


def _inside(before: Json, after: Json, keys: Keys) -> Iterator[Change]:
    """The changes inside two JSON values: order by our own walk, the rest by deepdiff."""
    yield from _orders(before, after, keys)
    if before == after and _dumped(before) == _dumped(after):
        return
    # Half a second to import, and most pairs differ in plain texts alone.
    from deepdiff import DeepDiff

    diff = DeepDiff(before, after, view="tree", ignore_order=False, verbose_level=2)
    reordered = set()
    for level in sorted((level for group in diff.values() for level in group), key=_keys):
        place = keys + _list_keys(level)
        shuffled = _shuffled(before, after, place)
        if shuffled is not None:
            if shuffled not in reordered:
                reordered.add(shuffled)
                yield Change("O03", shuffled, note="the same items in another order")
            continue
        yield from _leaf(level, place)


def _dumped(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _keys(level: "DiffLevel") -> tuple[str, ...]:
    return tuple(f"{key:09d}" if isinstance(key, int) else str(key) for key in _list_keys(level))


def _list_keys(level: "DiffLevel") -> Keys:
    path: Any = level.path(output_format="list")
    return tuple(path)


def _at(value: Json, keys: Keys) -> Json:
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _shuffled(before: Json, after: Json, keys: Keys) -> Keys | None:
    """The path of the innermost list above a leaf that holds the same items in another order."""
    for length in range(len(keys) - 1, -1, -1):
        x, y = _at(before, keys[:length]), _at(after, keys[:length])
        if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
            plain = [_dumped(item) for item in x], [_dumped(item) for item in y]
            if plain[0] != plain[1] and sorted(plain[0]) == sorted(plain[1]):
                return keys[:length]
    return None


def _leaf(level: "DiffLevel", keys: Keys) -> Iterator[Change]:
    before, after = level.t1, level.t2
    if isinstance(before, str) and isinstance(after, str):
        yield from _text(before, after, keys)
        return
    numbers = isinstance(before, int | float) and isinstance(after, int | float)
    if numbers and before == after and not isinstance(before, bool) and not isinstance(after, bool):
        shown = json.dumps(before), json.dumps(after)
        yield Change("E04", keys, shown[0], shown[1], (0, len(shown[0])), (0, len(shown[1])))
        return
    kind = str(level.report_type)
    if kind.endswith("_added"):
        yield Change(UNKNOWN, keys, note="added")
    elif kind.endswith("_removed"):
        yield Change(UNKNOWN, keys, note="removed")
    else:
        shown = json.dumps(before, ensure_ascii=False), json.dumps(after, ensure_ascii=False)
        yield Change(UNKNOWN, keys, shown[0], shown[1], (0, len(shown[0])), (0, len(shown[1])))


def _orders(before: Json, after: Json, keys: Keys) -> Iterator[Change]:
    """Objects whose keys are the same but in another order, outermost first."""
    if isinstance(before, dict) and isinstance(after, dict):
        common = [key for key in before if key in after]
        if common != [key for key in after if key in before]:
            yield Change("O02", keys, note="the same keys in another order")
        for key in after:
            if key in before:
                yield from _orders(before[key], after[key], (*keys, key))
    elif isinstance(before, list) and isinstance(after, list):
        for index, (x, y) in enumerate(zip(before, after, strict=False)):
            yield from _orders(x, y, (*keys, index))
