"""What the SESSION arguments of `analyze` mean: files, folders, globs, recordings, addresses."""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from cachediag.batch import folders, stores
from cachediag.batch.model import Named
from cachediag.errors import InputError, UsageError
from cachediag.session import library

__all__ = ["Found", "find"]


@dataclass(frozen=True, slots=True)
class Found:
    """The sessions that are meant, each once, in the order in which they were named."""

    sessions: tuple[Named, ...]
    passed_over: int
    """Files in folders that hold no session."""


def find(arguments: Iterable[str]) -> Found:
    """Find every session that is meant.

    Args:
        arguments: files, folders, globs, names of recordings, `file://` and addresses that
            fsspec knows. What lies in a folder and is no session is passed over; what was named
            itself, or by a glob, is taken at its word.

    Raises:
        UsageError: an argument means nothing, or its address needs what is not installed.
        InputError: a folder or a store cannot be read, or holds no session.
    """
    sessions: dict[str, Named] = {}
    passed_over = 0
    for argument in arguments:
        held, left_out = _meant(argument)
        passed_over += left_out
        for named in held:
            sessions.setdefault(named.address, named)
    return Found(tuple(sessions.values()), passed_over)


def _meant(argument: str) -> tuple[list[Named], int]:
    if argument == "-":
        raise UsageError(
            "standard input is read as one session, and into no rows",
            where="-",
            remedy="Keep it first: cachediag import - -o FILE.cachediag",
        )
    scheme, separator, _ = argument.partition("://")
    if separator and scheme == "file":
        return _local(_path_of(argument))
    if separator and scheme.replace("+", "").isalnum():
        return stores.found(argument)
    return _local(argument)


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise UsageError(
            "names another machine", where=url, remedy="Write three slashes: file:///folder/file"
        )
    return url2pathname(parts.path)


def _local(argument: str) -> tuple[list[Named], int]:
    path = Path(argument)
    if path.is_dir():
        return _folder(argument)
    if not path.exists() and glob.has_magic(argument):
        return _matching(argument)
    return [_named(argument, library.resolve(argument))], 0


def _folder(argument: str) -> tuple[list[Named], int]:
    held = folders.look_through(Path(argument))
    if not held.sessions:
        raise InputError(
            "the folder holds no session and no request bodies",
            where=argument,
            remedy="Give a folder of recordings, or of JSON bodies, one a file",
        )
    return [_named(str(path), path) for path in held.sessions], held.passed_over


def _matching(pattern: str) -> tuple[list[Named], int]:
    sessions: list[Named] = []
    passed_over = 0
    for match in _matches(pattern):
        held, left_out = _folder(match) if Path(match).is_dir() else ([_named(match, match)], 0)
        sessions += held
        passed_over += left_out
    if not sessions:
        raise UsageError(
            "nothing matches", where=pattern, remedy="Put a glob in quotes: 'runs/**/*.cachediag'"
        )
    return sessions, passed_over


def _matches(pattern: str) -> Iterator[str]:
    for match in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207 - Path refuses absolute ones
        if not match.endswith(folders.BESIDE):
            yield match


def _named(label: str, path: str | Path) -> Named:
    return Named(label, os.path.abspath(path))  # noqa: PTH100 - links stay what they are
