"""Request bodies in every spelling that JSON allows, for property tests."""

import random
from collections.abc import Sequence

from hypothesis import strategies as st

__all__ = ["TEXTS", "Speller", "spellers"]

TEXTS = st.text(max_size=12)
_WHITE = (b"", b"", b" ", b"\n", b"\r\n\t", b"  ")
_NUMBERS = (b"0", b"-0", b"1.0", b"1.00", b"1E+2", b"12345678901234567890123", b"0.5e-1")
_SHORT = {'"': b'\\"', "\\": b"\\\\", "\n": b"\\n", "\t": b"\\t", "/": b"\\/"}
_ODD = ("", "a", "é", "😀", "\n", '"', "\\", "\ud800", "\x00", "key")


class Speller:
    """Writes JSON in a spelling of its own: escapes, white space, numbers, repeated keys."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def white(self) -> bytes:
        return self._random.choice(_WHITE)

    def shuffled(self, values: Sequence[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
        return self._random.sample(list(values), len(values))

    def literal(self, text: str) -> bytes:
        """A string, each character spelled in one of its ways."""
        return b'"' + b"".join(map(self._character, text)) + b'"'

    def _character(self, one: str) -> bytes:
        raw = one.encode("utf-16-be", "surrogatepass")
        escaped = b"".join(b"\\u" + raw[at : at + 2].hex().encode() for at in range(0, len(raw), 2))
        ways = [escaped, escaped.upper().replace(b"\\U", b"\\u")]
        if one in _SHORT:
            ways.append(_SHORT[one])
        elif one >= " " and not 0xD800 <= ord(one) <= 0xDFFF:
            ways += [one.encode()] * 6
        return self._random.choice(ways)

    def value(self, depth: int = 2) -> bytes:
        """Any value."""
        kind = self._random.choice(["text", "number", "word", *(["array", "object"] * bool(depth))])
        if kind == "text":
            return self.literal("".join(self._random.choices(_ODD, k=3)))
        if kind == "number":
            return self._random.choice(_NUMBERS)
        if kind == "word":
            return self._random.choice((b"true", b"false", b"null"))
        inner = [self.value(depth - 1) for _ in range(self._random.randint(0, 3))]
        if kind == "array":
            return self.array(inner)
        return self.object([(self._random.choice(_ODD), value) for value in inner])

    def array(self, items: Sequence[bytes]) -> bytes:
        spaced = [self.white() + item + self.white() for item in items]
        return b"[" + b",".join(spaced) + (b"" if items else self.white()) + b"]"

    def object(self, members: Sequence[tuple[str, bytes]]) -> bytes:
        spaced = [
            b"".join((self.white(), self.literal(key), self.white(), b":", self.white(), value))
            + self.white()
            for key, value in members
        ]
        return b"{" + b",".join(spaced) + (b"" if members else self.white()) + b"}"

    def text_block(self, text: str) -> bytes:
        """A text block, its keys in any order, perhaps with a marker."""
        members = [("type", self.literal("text")), ("text", self.literal(text))]
        if self._random.random() < 0.5:
            members.append(("cache_control", b'{"type":"ephemeral"}'))
        return self.object(self.shuffled(members))

    def request(self, fields: dict[str, bytes]) -> bytes:
        """A request's body: the fields in any order, among others that may repeat one another."""
        names = [self._random.choice(["metadata", "x", "stream", "é"]) for _ in range(3)]
        others = [(name, self.value()) for name in names]
        body = self.object(self.shuffled([*others, *fields.items()]))
        return self.white() + body + self.white()


spellers = st.integers(0, 2**32).map(Speller)
