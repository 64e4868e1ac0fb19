"""Finding the credentials of a recording wherever they turn up, however many there are."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["MIN_LENGTH", "Secrets", "mask", "places"]

MIN_LENGTH: Final = 12
"""Shorter values are placeholders (`lm-studio`, `dummy`) that also occur in ordinary text."""

# So many are searched for one by one, which is the fastest way for few.
_FEW: Final = 64
_LONG: Final = 4096


class Secrets:
    """Credentials seen while recording, kept in memory only.

    All of them are masked in every later body, not just each in its own exchange: a refreshed
    token makes the former one no public text, and a conversation repeats its history.

    Each is looked for as it is, and in the form that JSON gives it. What that takes grows with the
    text, and not with the number of credentials: an imported file may hold a new one a request.

    Args:
        values: credentials of at least `MIN_LENGTH` characters.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._searched: list[bytes] = []
        self._looked_up: dict[bytes, dict[int, set[bytes]]] = {}
        """By their first bytes, and then by their length."""
        self._heads: tuple[set[int], ...] = tuple(set() for _ in range(MIN_LENGTH))
        self._head: re.Pattern[bytes] | None = None
        self.add(*values)

    def add(self, *values: str) -> None:
        """Remember credentials."""
        for value in values:
            if value not in self._values:
                self._values.add(value)
                self._add({value.encode(errors="replace"), json.dumps(value)[1:-1].encode()})

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield where credentials begin and end in a text; they may overlap."""
        for form in self._searched:
            start = data.find(form)
            while start >= 0:
                yield start, start + len(form)
                start = data.find(form, start + len(form))
        if self._looked_up:
            yield from self._spans_looked_up(data)

    def _add(self, forms: set[bytes]) -> None:
        for form in forms:
            if len(form) > _LONG or len(self._searched) < _FEW:
                self._searched.append(form)
                continue
            head = form[:MIN_LENGTH]
            self._looked_up.setdefault(head, {}).setdefault(len(form), set()).add(form)
            for seen, byte in zip(self._heads, head, strict=True):
                if byte not in seen:
                    seen.add(byte)
                    self._head = None

    def _spans_looked_up(self, data: bytes) -> Iterator[tuple[int, int]]:
        if self._head is None:
            self._head = _beginning(self._heads)
        for match in self._head.finditer(data):
            start = match.start()
            for length, forms in self._looked_up.get(match[1], {}).items():
                if data[start : start + length] in forms:
                    yield start, start + length


def _beginning(heads: tuple[set[int], ...]) -> re.Pattern[bytes]:
    """Give a pattern of what may be the first bytes, at places that may overlap."""
    classes = ("".join(f"\\x{byte:02x}" for byte in sorted(seen)) for seen in heads)
    return re.compile("".join(["(?=(", *(f"[{each}]" for each in classes), "))"]).encode())


def places(data: bytes, secrets: Iterable[Secrets]) -> list[tuple[int, int]]:
    """Return where credentials stand in a text, in order; those that overlap are one place."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for each in secrets for span in each.spans(data)):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def mask(body: bytes, secrets: Iterable[Secrets]) -> tuple[bytes, int]:
    """Overwrite credentials inside a body with as many asterisks.

    The length stays, so that every offset in the body stays true.

    Args:
        body: a request or response body, its content-encoding undone.
        secrets: what is known.

    Returns:
        The body, and how many places were overwritten; the same object where there were none.
    """
    found = places(body, secrets)
    if not found:
        return body, 0
    masked = bytearray(body)
    for start, end in found:
        masked[start:end] = b"*" * (end - start)
    return bytes(masked), len(found)
