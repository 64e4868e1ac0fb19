"""Environment variables in a client's settings file: set, and taken back.

A settings file is JSON with an object `env`; people put comments and trailing commas into it. As
long as something of cachediag's is in it, two files stand beside it: a copy of what it would be
without (`NAME.cachediag-backup`), and an account of what was set (`NAME.cachediag-undo`). A file
that is a symbolic link is written where it leads; the two stand beside the link.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE

from cachediag.errors import InputError
from cachediag.fix import jsonc
from cachediag.fix.files import replace_file
from cachediag.model import Json

__all__ = ["Changed", "Undone", "Variables", "Written", "read", "undo", "write"]

_ENV = "env"
_NEW = b"{}\n"
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class Changed:
    """One variable that was set or taken back; None where it is not in the file."""

    name: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True)
class Written:
    """What came of writing."""

    path: Path
    changes: tuple[Changed, ...]
    """None where all was set already: then nothing was written."""
    backup: Path | None
    """The copy beside the file; None where there is none."""
    is_plain: bool
    """The file is JSON without comments and trailing commas."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What came of taking back."""

    path: Path
    changes: tuple[Changed, ...]
    is_exact: bool
    """The file is byte for byte what it was before, or gone where there was none."""
    kept: tuple[str, ...]
    """Variables that somebody has changed since, and that were left alone."""


@dataclass(frozen=True, slots=True)
class Variables:
    """What a settings file sets."""

    path: Path
    exists: bool
    values: Mapping[str, str]
    is_plain: bool = True
    problem: str | None = None
    """Why it cannot be read."""
    can_undo: bool = False
    """Something in it was set by `write`."""


@dataclass(frozen=True, slots=True)
class _Account:
    """What was set so far."""

    variables: Mapping[str, str]
    before: bytes | None
    """What the file would be without; None where there was no file, or the copy is lost."""
    was_there: bool
    digest: str | None = None
    """Of the file as it was written."""

    @property
    def had_env(self) -> bool:
        """The object `env` was in the file before."""
        if self.before is None:
            return self.was_there
        return bool(self.before.strip()) and jsonc.raw_member(self.before, _ENV) is not None

    def stood(self, name: str) -> bytes | None:
        """The JSON text of a variable's value before."""
        if not self.before or not self.before.strip():
            return None
        return jsonc.raw_member(self.before, _ENV, name)

    def is_exact_for(self, raw: bytes) -> bool:
        """Nothing was changed since, and what was before is known."""
        return _digest(raw) == self.digest and (self.before is None) != self.was_there


def read(path: Path) -> Variables:
    """What a settings file sets. Never fails: what is wrong with it is told in the result."""
    can_undo = _beside(path, "undo").exists()
    try:
        raw = _raw(path)
        values = _variables(raw) if raw and raw.strip() else {}
    except InputError as error:
        return Variables(path, True, {}, True, error.message, can_undo)
    texts = {name: _text(value) for name, value in values.items()}
    return Variables(path, raw is not None, texts, not raw or jsonc.is_plain(raw), None, can_undo)


def write(
    path: Path, values: Mapping[str, str], is_set: Callable[[str, str], bool] | None = None
) -> Written:
    """Set variables in a settings file. Where all are set already, nothing is written.

    Args:
        path: the file; made, with its directory, where it is not there.
        values: name → value.
        is_set: tells of a name and the value that stands there whether it will do; by default only
            the value that is wanted does.

    Raises:
        InputError: the file is not JSON, its `env` is no object, or it cannot be written.
    """
    with _named(path):
        raw = _raw(path)
        made = raw if raw and raw.strip() else _NEW
        there = _variables(made)
        wanted = {
            name: value
            for name, value in values.items()
            if name not in there or not (is_set or _equal(values))(name, _text(there[name]))
        }
        backup = _beside(path, "backup")
        if not wanted:
            return Written(path, (), backup if backup.exists() else None, jsonc.is_plain(made))
        account = _so_far(path, raw)
        for name, value in wanted.items():
            made = jsonc.with_member(made, (_ENV,), name, value)
        mode = _mode(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if account.before is None:
            backup.unlink(missing_ok=True)
        else:
            replace_file(backup, account.before, mode)
        _write_account(path, {**account.variables, **wanted}, account.was_there, _digest(made))
        replace_file(path.resolve(), made, mode)
    changes = tuple(Changed(name, there.get(name), value) for name, value in wanted.items())
    return Written(path, changes, backup if account.was_there else None, jsonc.is_plain(made))


def _equal(values: Mapping[str, str]) -> Callable[[str, str], bool]:
    return lambda name, value: value == values[name]


def _so_far(path: Path, raw: bytes | None) -> _Account:
    """What was set so far, brought up to what others have changed in the file since."""
    account = _read_account(path)
    if account is None or raw is None:
        return _Account({}, raw, raw is not None)
    if account.is_exact_for(raw):
        return account
    cleaned, changes, _ = _cleaned(raw, account)
    ours = {change.name: account.variables[change.name] for change in changes}
    return _Account(ours, cleaned, was_there=True)


def undo(path: Path) -> Undone | None:
    """Take back what `write` set; None where it set nothing.

    Where nothing else was changed meanwhile, the file is again what it was. Else only the variables
    that were set go, as far as they still have the value they were given; one that had a value
    before gets it back.

    Raises:
        InputError: the file is gone, is not JSON any more, or cannot be written.
    """
    with _named(path):
        account = _read_account(path)
        if account is None:
            return None
        raw = _raw(path)
        if raw is None:
            raise InputError(
                "the settings file is no longer there",
                where=str(path),
                remedy=f"What it held before is in {_beside(path, 'backup').name}, beside it.",
            )
        cleaned, changes, kept = _cleaned(raw, account)
        is_exact = account.is_exact_for(raw)
        if not is_exact:
            replace_file(path.resolve(), cleaned, _mode(path))
        elif account.before is None:
            path.resolve().unlink()
        else:
            replace_file(path.resolve(), account.before, _mode(path))
        _beside(path, "undo").unlink()
        _beside(path, "backup").unlink(missing_ok=True)
    return Undone(path, changes, is_exact, kept)


def _cleaned(raw: bytes, account: _Account) -> tuple[bytes, tuple[Changed, ...], tuple[str, ...]]:
    """The file without what was set, the changes that makes, and what is left alone."""
    changes, kept = [], []
    for name, value in account.variables.items():
        there = _variables(raw)
        if name not in there:
            continue
        if there[name] != value:
            kept.append(name)
            continue
        stood = account.stood(name)
        changes.append(Changed(name, value, None if stood is None else json.loads(stood)))
        if stood is None:
            raw = jsonc.without_member(raw, (_ENV,), name)
        else:
            raw = jsonc.with_raw_member(raw, (_ENV,), name, stood)
    env = jsonc.raw_member(raw, _ENV)
    if not account.had_env and env is not None and not env[1:-1].strip():
        raw = jsonc.without_member(raw, (), _ENV)
    return raw, tuple(changes), tuple(kept)


def _variables(raw: bytes) -> Mapping[str, Json]:
    told = jsonc.decoded(raw)
    if not isinstance(told, dict):
        raise InputError("not a JSON object")
    env = told.get(_ENV, {})
    if not isinstance(env, dict):
        raise InputError(f"{_ENV!r} is not an object")
    return env


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors that tell which file, and what to do."""
    try:
        yield
    except InputError as error:
        if error.where is not None:
            raise
        raise InputError(
            error.message, where=str(path), remedy="Mend the file; nothing was changed."
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot be used: {error.strerror or error}",
            where=str(error.filename or path),
            remedy="Give another file, or see to its permissions.",
        ) from error


def _raw(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error


def _mode(path: Path) -> int:
    return S_IMODE(path.stat().st_mode) if path.exists() else _PRIVATE


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}.cachediag-{what}")


def _digest(raw: bytes) -> str:
    return sha256(raw).hexdigest()


def _write_account(path: Path, variables: Mapping[str, str], was_there: bool, digest: str) -> None:
    told = {"variables": dict(variables), "was_there": was_there, "digest": digest}
    replace_file(_beside(path, "undo"), json.dumps(told, indent=2).encode() + b"\n", _PRIVATE)


def _read_account(path: Path) -> _Account | None:
    place = _beside(path, "undo")
    raw = _raw(place)
    if raw is None:
        return None
    try:
        told = jsonc.decoded(raw)
        variables = {str(name): str(value) for name, value in told["variables"].items()}
        was_there, digest = bool(told["was_there"]), str(told["digest"])
    except (InputError, KeyError, TypeError, AttributeError):
        raise InputError(
            "not an account of cachediag's any more",
            where=str(place),
            remedy=f"Put {_beside(path, 'backup').name} back by hand, and remove this file.",
        ) from None
    return _Account(variables, _raw(_beside(path, "backup")), was_there, digest)
