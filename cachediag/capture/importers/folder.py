"""A folder of request bodies, one a file, in natural order of their names."""

import re
from pathlib import Path

from cachediag.capture.importers.reading import Input, check_json, placed, without_bom
from cachediag.capture.importers.records import exchange_of
from cachediag.capture.masking import Secrets
from cachediag.errors import InputError
from cachediag.model import Exchange
from cachediag.session import Source
from cachediag.session.schema import read_header
from cachediag.session.source import numbered

__all__ = ["holds_body", "is_inside", "read_folder"]

_DIGITS = re.compile(r"(\d+)")


def read_folder(path: Path) -> Source:
    """Read the bodies in a folder; its own folders and hidden files are not looked at.

    Files that hold no request body are left out, and links that lead out of the folder; the notes
    say so.

    Raises:
        InputError: a JSON file in it is damaged, it holds no body, or it cannot be read.
    """
    where = str(path)
    secrets = Secrets()
    files = _files(path)
    inside = [file for file in files if is_inside(file, path)]
    found = [_read(file, secrets) for file in inside]
    exchanges = [each for each in found if each is not None]
    if not exchanges:
        raise InputError(
            "the folder holds no request bodies",
            where=where,
            remedy="Give a folder of JSON bodies, one a file",
        )
    without = len(found) - len(exchanges)
    notes = [f"{without} files in {path.name} hold no request body"] if without else []
    outward = len(files) - len(inside)
    if outward:
        notes.append(f"{outward} links in {path.name} lead out of it and are not followed")
    return numbered(path.resolve().name, exchanges, notes)


def is_inside(file: Path, folder: Path) -> bool:
    """Whether a file of a folder is there itself, and no link to one elsewhere.

    Whoever made the folder may not choose what else is read.
    """
    return not file.is_symlink() or file.resolve().is_relative_to(folder.resolve())


def _files(path: Path) -> list[Path]:
    try:
        files = [f for f in path.iterdir() if f.is_file() and not f.name.startswith(".")]
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=str(path), remedy="Look at its rights"
        ) from error
    return sorted(files, key=lambda file: _natural(file.name))


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts `9.json` before `10.json`."""
    parts = _DIGITS.split(name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read(path: Path, secrets: Secrets) -> Exchange | None:
    where = str(path)
    try:
        # A session among them, perhaps one that is being recorded here: see `read_header`.
        if read_header(path) is not None:
            return None
        with path.open("rb") as file:
            source = Input(file, where, path.stem)
            if not without_bom(source.head()).lstrip().startswith(b"{"):
                return None
            document = source.document()
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=where, remedy="Look at its rights"
        ) from error
    try:
        check_json(document, where)
        with placed(where):
            return exchange_of(document, secrets)
    except InputError:
        # A brace begins other things too; a file that says it is JSON must be whole.
        if path.suffix.lower() == ".json":
            raise
        return None


def holds_body(path: Path) -> bool:
    """Whether a file of a folder is taken for a request body, be it damaged."""
    try:
        return _read(path, Secrets()) is not None
    except InputError:
        return True
