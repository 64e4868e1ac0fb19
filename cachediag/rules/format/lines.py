"""Where things stand in a TOML text: readers of the language do not tell."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from cachediag.model import Json

__all__ = ["Lines", "Statement", "statements"]

Path = tuple[str | int, ...]
"""Names of fields and numbers of tables in a list: `("rule", 3, "path")`."""

# A string that is not closed goes on to the end.
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\\?\Z)'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+"
    r"|\n|[\[\]{}]|[^\"'#\n\[\]{}]++",
    re.DOTALL,
)
_DEEPEST = 6


@dataclass(frozen=True)
class Statement:
    """A key with its value, a table's header, or an empty line."""

    line: int
    """The line on which it begins, from 1."""
    text: str
    dots: int
    """Dots outside of strings and comments, which make keys deep."""


def statements(text: str) -> Iterator[Statement]:
    """Part a text into statements. What is no TOML is parted somehow."""
    line, first, start, depth, dots = 1, 1, 0, 0, 0
    for token in _TOKEN.finditer(text):
        piece = token[0]
        line += piece.count("\n")
        if piece in "[{":
            depth += 1
        elif piece in "]}":
            depth -= 1
        elif piece == "\n" and depth <= 0:
            yield Statement(first, text[start : token.start()], dots)
            first, start, depth, dots = line, token.end(), 0, 0
        elif piece[0] not in "\"'#":
            dots += piece.count(".")
    if start < len(text):
        yield Statement(first, text[start:], dots)


class Lines:
    """The lines on which the fields of a TOML text stand."""

    def __init__(self, text: str) -> None:
        self._found: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}
        self._last = 1
        self._unreadable: int | None = None
        table: Path = ()
        for statement in statements(text):
            content = self._read(statement)
            if not content:
                continue
            header = statement.text.lstrip()
            if header.startswith("["):
                table = self._header(content, is_list=header.startswith("[["))
                self._add(table, {}, statement.line)
            else:
                self._add(table, content, statement.line)

    def of(self, path: Path) -> int:
        """The line of a field, or of the innermost table around it that is written out."""
        inner = (self._found.get(path[:size]) for size in range(len(path), 0, -1))
        return next((line for line in inner if line is not None), 1)

    @property
    def suspect(self) -> int:
        """The line of the first statement that cannot be read by itself, or else of the last."""
        return self._unreadable or self._last

    def _read(self, statement: Statement) -> dict[str, Json]:
        if statement.text.strip() and not statement.text.lstrip().startswith("#"):
            self._last = statement.line
        try:
            return tomllib.loads(statement.text)
        except (ValueError, RecursionError):
            self._unreadable = self._unreadable or statement.line
            return {}

    def _header(self, content: dict[str, Json], *, is_list: bool) -> Path:
        path: Path = ()
        inside: Json = content
        while isinstance(inside, dict) and inside:
            ((name, inside),) = inside.items()
            path += (name,)
            if path in self._tables and isinstance(inside, dict):
                path += (self._tables[path],)
        if is_list:
            self._tables[path] = self._tables.get(path, -1) + 1
            path += (self._tables[path],)
        return path

    def _add(self, path: Path, content: Json, line: int) -> None:
        for size in range(1, len(path) + 1):
            self._found.setdefault(path[:size], line)
        if len(path) >= _DEEPEST:
            return
        if isinstance(content, dict):
            for name, inside in content.items():
                self._add((*path, name), inside, line)
        elif isinstance(content, list):
            for number, inside in enumerate(content):
                self._add((*path, number), inside, line)
