"""What the importers share: the file in hand, and saying why one cannot be read."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

from cachediag.errors import InputError
from cachediag.protocol import jsontext
from cachediag.session import Source

__all__ = [
    "HEAD",
    "HINT",
    "MAX_DOCUMENT",
    "Importer",
    "Input",
    "check_json",
    "placed",
    "refusal",
    "without_bom",
]

HEAD: Final = 1 << 16
"""Bytes that are looked at to tell what a file is."""

MAX_DOCUMENT: Final = 1 << 30
"""Bytes of one JSON document that are read: more is no request body and no HAR of an agent."""

_UTF8_BOM: Final = b"\xef\xbb\xbf"
SQLITE: Final = b"SQLite format 3\0"
# A tnetstring, a length and a colon, that holds another one.
_TNETSTRING: Final = re.compile(rb"\d{1,12}:\d{1,12}:")
_PACKED: Final = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
HINT: Final = "Give a JSON body, or record one: cachediag record -- claude"
"""What to do where nothing can be made of a file."""


@dataclass(frozen=True, slots=True)
class Input:
    """A file that is to be recognised and read."""

    file: BinaryIO
    """Open and seekable; an importer seeks before it reads."""
    where: str
    """What messages call it."""
    name: str
    """What a report calls it."""

    def head(self) -> bytes:
        """Return the file's first `HEAD` bytes."""
        self.file.seek(0)
        return self.file.read(HEAD)

    def document(self) -> bytes:
        """Return the whole file, a byte-order mark left out.

        Raises:
            InputError: it has more than `MAX_DOCUMENT` bytes.
        """
        size = self.file.seek(0, io.SEEK_END)
        if size > MAX_DOCUMENT:
            raise InputError(
                f"too large to be one JSON document ({size >> 20} MiB)",
                where=self.where,
                remedy="Give one body, or JSONL with one body a line",
            )
        self.file.seek(0)
        # What is added meanwhile would make it another document, or one without end.
        return without_bom(self.file.read(size))


class Importer(Protocol):
    """Reads one kind of file; see `cachediag.capture.importers` for the table of them."""

    def recognises(self, source: Input) -> bool:
        """Tell by the content whether this importer reads it, looking at a bounded part."""
        ...

    def read(self, source: Input) -> Source:
        """Read it.

        Raises:
            InputError: it is damaged, cut off, or of a version that cannot be read.
        """
        ...


def without_bom(data: bytes) -> bytes:
    """Leave out a UTF-8 byte-order mark, which some editors and proxies write."""
    return data.removeprefix(_UTF8_BOM)


def refusal(where: str, head: bytes) -> InputError | None:
    """Say why a file cannot be anything that is read here.

    Args:
        where: what the message calls it.
        head: its first bytes, at most `HEAD`.

    Returns:
        The error, or None where an importer may know it.
    """
    if _TNETSTRING.match(head):
        return None
    text = without_bom(head)
    content = text.lstrip()
    if content.startswith(b"{"):
        return None
    if not content:
        what = "the file is empty" if not head else "the file holds white space only"
        return InputError(what, where=where, remedy=HINT)
    line = text[: len(text) - len(content)].count(b"\n") + 1
    kind, remedy = _kind(head, content)
    return InputError(
        f"not a request body, session, flow file or HAR (line {line}: {kind})"
        if kind in {"plain text", "a JSON array"}
        else f"not a request body, session, flow file or HAR ({kind})",
        where=where,
        remedy=remedy,
    )


def _kind(head: bytes, content: bytes) -> tuple[str, str]:
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            return f"a {name} archive", "Unpack it first"
    if head.startswith(SQLITE):
        return "a damaged SQLite file", HINT
    if head.startswith(_UTF16):
        return "UTF-16 text", "Save it as UTF-8"
    if b"\0" in head or not _is_utf8(head):
        return "a binary file", HINT
    if content.startswith(b"["):
        return "a JSON array", "Give one body, or JSONL with one body a line"
    return "plain text", HINT


def _is_utf8(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # The head may end within a character.
        return len(head) == HEAD and error.start > HEAD - 4
    return True


def check_json(document: bytes, where: str, line: int = 1) -> None:
    """Check that a document is one JSON value.

    Args:
        document: the text.
        where: what the message calls its file.
        line: the line of the file at which it begins.

    Raises:
        InputError: it is not JSON; the message names the line in the file.
    """
    try:
        jsontext.decode(document)
    except InputError:
        with placed(where):
            jsontext.decode(b"\n" * (line - 1) + document)


@contextmanager
def placed(where: str, place: str = "") -> Iterator[None]:
    """Say in which file an input error arose.

    Args:
        where: what the message calls the file.
        place: the place in it, put before the message.
    """
    try:
        yield
    except InputError as error:
        if error.where is not None:
            raise
        message = f"{place}: {error.message}" if place else error.message
        raise InputError(message, where=where, remedy=error.remedy) from error
