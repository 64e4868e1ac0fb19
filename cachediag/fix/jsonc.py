"""One member of an object set or taken out in JSON that people wrote, all else kept as it is.

Comments (`//`, `/* */`), trailing commas, a byte order mark, white space, line ends, the order of
keys and repeated keys stay byte for byte. Members are found in a copy in which comments and
trailing commas are blanks, so that what reads the bodies of requests reads settings too.
"""

import json
import re
from dataclasses import dataclass

from cachediag.errors import InputError
from cachediag.model import Json
from cachediag.protocol import jsontext
from cachediag.protocol.jsontext import Span
from cachediag.rules.engine.edits import Edit, Edits
from cachediag.rules.engine.places import Place, member, root

__all__ = [
    "decoded",
    "is_plain",
    "raw_member",
    "with_member",
    "with_raw_member",
    "without_member",
]

_BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(rb'"(?:[^"\\\n]|\\.)*"|,(?=[ \t\r\n]*[}\]])')
_INK = re.compile(rb"[^\r\n]")
_SPACE = b" \t\r\n"
_SPACES = (b" ", b"\t", b"\r", b"\n")
_UNIT = b"  "
_EMPTY = b"{}"
_BLANKS = re.compile(rb"[ \t]*")


def _without_comments(raw: bytes) -> bytes:
    """The same length, comments and byte order mark as blanks; line ends stay."""

    def blank(token: re.Match[bytes]) -> bytes:
        return token[0] if token[0].startswith(b'"') else _INK.sub(b" ", token[0])

    start = len(_BOM) if raw.startswith(_BOM) else 0
    return b" " * start + _TOKEN.sub(blank, raw[start:])


def _plain(raw: bytes) -> bytes:
    """The same length, as JSON: trailing commas are blanks as well."""
    text = _without_comments(raw)

    def blank(token: re.Match[bytes]) -> bytes:
        if token[0] != b",":
            return token[0]
        before = text[: token.start()].rstrip(_SPACE)[-1:]
        return b"," if before in (b"", b"{", b"[", b",", b":") else b" "

    return _STRING_OR_COMMA.sub(blank, text)


def is_plain(raw: bytes) -> bool:
    """Whether it is JSON that any reader takes: no comments, no trailing commas."""
    return _plain(raw) == raw.replace(_BOM, b"   ", 1)


def decoded(raw: bytes) -> Json:
    """The value.

    Raises:
        InputError: it is not JSON, comments and trailing commas apart; the message says where.
    """
    return jsontext.decode(_plain(raw))


def raw_member(raw: bytes, *path: str) -> bytes | None:
    """The text of a member of the outermost object, or of one inside it; None where it is not."""
    place = _find(_plain(raw), path)
    return None if place is None else raw[slice(*place.span)]


def _find(plain: bytes, path: tuple[str, ...]) -> Place | None:
    place: Place | None = root(plain)
    for name in path:
        place = place and member(plain, place, name)
    return place


@dataclass(frozen=True, slots=True)
class _Object:
    """An object in a text, and what stands around its members."""

    raw: bytes
    bare: bytes
    """Without comments."""
    plain: bytes
    """Without trailing commas too."""
    span: Span
    depth: int

    @property
    def members(self) -> list[tuple[str, Span]]:
        return list(jsontext.members(self.plain, self.span))

    def key_start(self, number: int) -> int:
        """Where a member's key begins."""
        return self.plain.index(b'"', self.gap_start(number))

    def gap_start(self, number: int) -> int:
        """Where what stands before a member begins: behind the brace, or the value before it."""
        return self.members[number - 1][1].end if number else self.span.start + 1

    @property
    def close(self) -> int:
        """Where its closing brace stands."""
        return self.span.end - 1

    def comma(self, start: int, end: int) -> int | None:
        """Where a comma stands in a gap between members."""
        found = self.bare.find(b",", start, end)
        return None if found < 0 else found

    def inked_until(self, end: int) -> int:
        """Where the white space before an offset begins; comments are no white space."""
        return len(self.raw[:end].rstrip(_SPACE))


def _object(raw: bytes, path: tuple[str, ...]) -> _Object:
    bare, plain = _without_comments(raw), _plain(raw)
    jsontext.decode(plain)
    place = _find(plain, path)
    if place is None or plain[place.span.start : place.span.start + 1] != b"{":
        what = f"{'.'.join(path)!r} is not an object" if path else "not a JSON object"
        raise InputError(what, remedy="Mend the file; nothing was written.")
    return _Object(raw, bare, plain, place.span, len(path))


def with_member(raw: bytes, path: tuple[str, ...], name: str, value: Json) -> bytes:
    """The text with a member set: its value replaced, or a new one behind the others.

    Args:
        raw: the text.
        path: the keys that lead to the object; of no object on the way one is made.
        name: the member's key.
        value: what it becomes.

    Raises:
        InputError: the text is not JSON, or there is no object at the path.
    """
    for depth in range(len(path)):
        if _find(_plain(raw), path[: depth + 1]) is None:
            raw = _appended(_object(raw, path[:depth]), path[depth], _EMPTY)
    told = json.dumps(value).encode()
    inside = _object(raw, path)
    places = [span for key, span in inside.members if key == name]
    if not places:
        return _appended(inside, name, told)
    return _spliced(raw, Edit(*places[-1], (told,)))


def with_raw_member(raw: bytes, path: tuple[str, ...], name: str, told: bytes) -> bytes:
    """The text with a member's value replaced by the text that it had before."""
    places = [span for key, span in _object(raw, path).members if key == name]
    return _spliced(raw, Edit(*places[-1], (told,)))


def _appended(inside: _Object, name: str, told: bytes) -> bytes:
    raw, members = inside.raw, inside.members
    end = inside.inked_until(inside.close)
    before, after = _layout(inside, end)
    written = before + json.dumps(name).encode() + b": " + told
    if not members:
        return _spliced(raw, Edit(end, end, (written + after,)))
    last = members[-1][1].end
    if inside.comma(last, inside.close) is not None:
        return _spliced(raw, Edit(end, end, (written + b",",)))
    if end == last:
        return _spliced(raw, Edit(end, end, (b"," + written,)))
    return _spliced(raw, Edit(last, last, (b",",)), Edit(end, end, (written,)))


def _layout(inside: _Object, end: int) -> tuple[bytes, bytes]:
    """What stands before a new member, and behind it where it is the first, in the file's style.

    Args:
        inside: the object.
        end: where the new member is put.
    """
    raw, members, close = inside.raw, inside.members, inside.close
    line = b"\r\n" if b"\r\n" in raw else b"\n"
    ends_line = b"\n" in raw[end:close]
    if not members:
        if inside.depth and b"\n" not in raw.strip() and not ends_line:
            return b"", b""
        own = _indent(raw, inside.span.start)
        return line + own + _unit(inside), b"" if ends_line else line + own
    first = raw[inside.span.start : inside.key_start(0)]
    if b"\n" in first:
        return line + _indent(raw, inside.key_start(0)), b""
    if b"\n" in raw[members[-1][1].end : close]:
        # A comment to the end of the line may stand before it.
        return line + _indent(raw, inside.span.start) + _unit(inside), b""
    return b" ", b""


def _indent(raw: bytes, position: int) -> bytes:
    """The white space that the line of a position begins with."""
    start = raw.rfind(b"\n", 0, position) + 1
    match = _BLANKS.match(raw, start)
    return match[0] if match else b""


def _unit(inside: _Object) -> bytes:
    """By how much one level is indented."""
    outermost = _object(inside.raw, ())
    if not outermost.members or b"\n" not in inside.raw[: outermost.key_start(0)]:
        return _UNIT
    return _indent(inside.raw, outermost.key_start(0)) or _UNIT


def without_member(raw: bytes, path: tuple[str, ...], name: str) -> bytes:
    """The text without a member, with its comma and the white space that goes with it.

    Args:
        raw: the text.
        path: the keys that lead to the object.
        name: the member's key; of a repeated one the last goes.

    Raises:
        InputError: the text is not JSON, or there is no object at the path.
    """
    inside = _object(raw, path)
    members = inside.members
    numbers = [number for number, (key, _) in enumerate(members) if key == name]
    if not numbers:
        return raw
    number = numbers[-1]
    start, end = inside.key_start(number), members[number][1].end
    if number + 1 < len(members):
        comma = inside.comma(end, inside.key_start(number + 1))
        assert comma is not None
        behind = comma + 1
        while inside.raw[behind : behind + 1] in _SPACES:
            behind += 1
        return _spliced(raw, Edit(start, behind))
    gap = inside.gap_start(number)
    own_comma = inside.comma(end, inside.close)
    end = end if own_comma is None else own_comma + 1
    ends_line = raw[end:].lstrip(b" \t")[:1] in (b"\r", b"\n")
    if ends_line or raw[gap:start] == inside.bare[gap:start]:
        # Else what follows would end up in a comment.
        start = inside.inked_until(start)
    before = inside.comma(gap, start) if number and own_comma is None else None
    if before is None:
        return _spliced(raw, Edit(start, end))
    return _spliced(raw, Edit(before, before + 1), Edit(start, end))


def _spliced(raw: bytes, *edits: Edit) -> bytes:
    changed = Edits(raw)
    changed.add(edits)
    made = changed.body()
    # Raises where the result is no JSON: what nothing could read is not handed on.
    decoded(made)
    return made
