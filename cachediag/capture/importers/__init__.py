"""Everything that is accepted where a session is, told by its content and not by its name.

To add a kind of file: write a class with `recognises` and `read` (see `Importer`) in a file of
its own, and name it in `IMPORTERS`.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

from cachediag.capture.importers.body import Body
from cachediag.capture.importers.flows import Flows
from cachediag.capture.importers.folder import read_folder
from cachediag.capture.importers.har import Har
from cachediag.capture.importers.jsonl import Jsonl
from cachediag.capture.importers.reading import HEAD, HINT, SQLITE, Importer, Input, refusal
from cachediag.capture.importers.session import open_session
from cachediag.capture.importers.wire import within_memory
from cachediag.errors import InputError, SessionError, UsageError
from cachediag.session import Session, Source
from cachediag.session.source import numbered

__all__ = ["IMPORTERS", "Importer", "Input", "open_bodies", "open_source"]

IMPORTERS: Final[tuple[Importer, ...]] = (Flows(), Har(), Jsonl(), Body())
"""Asked in this order; the first that recognises a file reads it. Sessions and folders, which are
not read from an open file, are looked for before."""


def open_source(path: str | Path) -> Source:
    """Open whatever holds exchanges.

    Args:
        path: a session file, mitmproxy flows, a HAR, JSONL, one request body, a folder of
            bodies, or `-` for any of these but the folder on standard input.

    Returns:
        The exchanges; a `Session` where it is a session file, which the caller may close.

    Raises:
        InputError: it is missing, or nothing that is read here, or damaged.
    """
    path = Path(path)
    where = "standard input" if str(path) == "-" else str(path)
    try:
        if str(path) == "-":
            return _piped(sys.stdin.buffer, where, "stdin")
        if path.is_dir():
            return read_folder(path)
        if path.exists() and not path.is_file():
            with path.open("rb") as pipe:
                return _piped(pipe, where, path.name)
        return _read(path, where, path.stem)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=where, remedy=HINT) from error


def open_bodies(paths: Sequence[str | Path]) -> Source:
    """Open files of one request body each as one collection, in the order given.

    Args:
        paths: files as `open_source` takes them.

    Raises:
        InputError: one of them cannot be read.
        UsageError: one of them holds more than one request.
    """
    sources = [open_source(path) for path in paths]
    exchanges = []
    for path, source in zip(paths, sources, strict=True):
        held = list(source.exchanges())
        if len(held) != 1:
            raise UsageError(
                f"holds {len(held)} requests, where one body is wanted",
                where=str(path),
                remedy="Compare two of them: cachediag diff FILE --pair 0:1",
            )
        exchanges += held
    notes = [note for source in sources for note in source.notes]
    return numbered(" → ".join(source.name for source in sources), exchanges, notes)


def _read(path: Path, where: str, name: str) -> Source:
    # Before the file is opened: see `read_header`.
    session = open_session(path)
    if session is not None:
        return session
    with path.open("rb") as file:
        source = Input(file, where, name)
        refused = refusal(where, source.head())
        if refused is not None:
            raise refused
        for importer in IMPORTERS:
            if importer.recognises(source):
                return importer.read(source)
    raise InputError("not a request body, session, flow file or HAR", where=where, remedy=HINT)


def _piped(stream: BinaryIO, where: str, name: str) -> Source:
    """Read what cannot be sought in, from a copy that is gone afterwards."""
    head = stream.read(HEAD)
    if not head.startswith(SQLITE):
        refused = refusal(where, head)
        if refused is not None:
            raise refused
    with tempfile.TemporaryDirectory(prefix="cachediag-") as directory:
        path = Path(directory) / name
        with path.open("wb") as copy:
            copy.write(head)
            shutil.copyfileobj(stream, copy)
        try:
            source = _read(path, where, name)
        except SessionError as error:
            raise SessionError(error.message, where=where, remedy=error.remedy) from error
        if isinstance(source, Session):
            with source:
                return numbered(name, within_memory(source.exchanges(), where))
        return source
