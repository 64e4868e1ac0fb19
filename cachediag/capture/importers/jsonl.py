"""JSONL: a request body a line, or a log record a line that holds one."""

from collections.abc import Iterator
from typing import Final

from cachediag.capture.importers.reading import Input, check_json, placed, without_bom
from cachediag.capture.importers.records import exchange_of
from cachediag.capture.masking import Secrets
from cachediag.errors import InputError
from cachediag.protocol import jsontext
from cachediag.session import Source
from cachediag.session.source import numbered

__all__ = ["Jsonl"]

_MAX_LINE: Final = 1 << 28


class Jsonl:
    """Reads files of one JSON object a line."""

    def recognises(self, source: Input) -> bool:
        """Tell by a first line that is a JSON object of its own, with another after it."""
        lines = _lines(source)
        try:
            _, first = next(lines, (0, b""))
            if not first.startswith(b"{"):
                return False
            jsontext.decode(first)
            return next(lines, None) is not None
        except InputError:
            return False

    def read(self, source: Input) -> Source:
        """Read all lines; those without a request body are left out, and the notes say so.

        Raises:
            InputError: a line is not JSON, or none holds a request body.
        """
        secrets = Secrets()
        found = []
        for number, line in _lines(source):
            check_json(line, source.where, number)
            with placed(source.where, f"line {number}"):
                found.append(exchange_of(line, secrets))
        exchanges = [each for each in found if each is not None]
        if not exchanges:
            raise InputError(
                f"JSONL, but none of its {len(found)} lines holds a request body",
                where=source.where,
                remedy='Give a body a line, or an object with it under "body" or "request"',
            )
        without = len(found) - len(exchanges)
        notes = [f"{without} of {len(found)} lines hold no request body"] if without else []
        return numbered(source.name, exchanges, notes)


def _lines(source: Input) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their number from 1."""
    source.file.seek(0)
    number = 0
    while line := source.file.readline(_MAX_LINE):
        number += 1
        if len(line) == _MAX_LINE and not line.endswith(b"\n"):
            raise InputError(
                f"line {number} is too long (more than {_MAX_LINE >> 20} MiB)",
                where=source.where,
                remedy="Give one body a line",
            )
        content = (without_bom(line) if number == 1 else line).strip()
        if content:
            yield number, content
