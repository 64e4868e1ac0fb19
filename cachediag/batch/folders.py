"""Which files of a folder, and of those in it, are sessions: told by their content."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

from cachediag.capture.importers import IMPORTERS, Input
from cachediag.capture.importers.body import Body
from cachediag.capture.importers.folder import holds_body, is_inside
from cachediag.errors import InputError, SessionError
from cachediag.session.schema import APPLICATION_ID, SUFFIX, read_header

__all__ = ["BESIDE", "SUFFIXES", "Held", "look_through"]

SUFFIXES: Final = (SUFFIX, ".flow", ".flows", ".har", ".jsonl", ".mitm", ".ndjson")
"""What calls itself so is a session even where it cannot be read: then that is told."""
BESIDE: Final = tuple(f"{SUFFIX}{end}" for end in ("-wal", "-shm", "-journal"))
"""SQLite's own files beside a session that is being recorded."""


class _Kind(Enum):
    session = auto()
    body = auto()
    """One JSON object, perhaps a request body."""
    other = auto()


@dataclass(frozen=True, slots=True)
class Held:
    """What a folder holds."""

    sessions: tuple[Path, ...]
    """Files, and folders whose request bodies together are one session."""
    passed_over: int
    """Files that are neither."""


def look_through(folder: Path) -> Held:
    """Look for sessions in a folder and in all folders below it.

    A session file, mitmproxy flows, a HAR and JSONL are a session each. Files of one request body
    each are one session together with the others of their folder. What is hidden is not looked
    at; links to folders, and those that lead out of the folder, are not followed.

    Raises:
        InputError: the folder cannot be read.
    """
    sessions: list[Path] = []
    passed_over = 0
    for directory, files in _walk(folder):
        kinds = {file: _kind(file) for file in files}
        bodies = [file for file in files if kinds[file] is _Kind.body]
        if any(map(holds_body, bodies)):
            sessions.append(directory)
        else:
            passed_over += len(bodies)
        sessions += [file for file in files if kinds[file] is _Kind.session]
        passed_over += sum(kind is _Kind.other for kind in kinds.values())
    return Held(tuple(sessions), passed_over)


def _walk(folder: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Folders with their files, both in the order of their names, the outer one first."""

    def refuse(error: OSError) -> None:
        raise InputError(
            f"cannot be read ({error.strerror})",
            where=str(error.filename),
            remedy="Look at its rights",
        ) from error

    for directory, inner, names in os.walk(folder, onerror=refuse):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        shown = sorted(name for name in names if not name.startswith("."))
        paths = (Path(directory, name) for name in shown if not name.endswith(BESIDE))
        yield (
            Path(directory),
            [each for each in paths if each.is_file() and is_inside(each, folder)],
        )


def _kind(file: Path) -> _Kind:
    try:
        return _content(file)
    except (OSError, SessionError):
        return _Kind.session if file.name.endswith(SUFFIXES) else _Kind.other


def _content(file: Path) -> _Kind:
    # Before the file is opened: see `read_header`.
    header = read_header(file)
    if header is not None and header[0] == APPLICATION_ID:
        return _Kind.session
    if file.name.endswith(SUFFIXES):
        return _Kind.session
    with file.open("rb") as opened:
        source = Input(opened, str(file), file.stem)
        for importer in IMPORTERS:
            if importer.recognises(source):
                return _Kind.body if isinstance(importer, Body) else _Kind.session
    return _Kind.other
