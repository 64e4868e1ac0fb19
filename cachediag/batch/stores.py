"""Sessions in object stores, by fsspec: listed, and fetched into a private file for a while."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from cachediag.batch.folders import SUFFIXES
from cachediag.batch.model import Named
from cachediag.errors import CachediagError, InputError, UsageError
from cachediag.extras import need

__all__ = ["at_hand", "found"]

_CHUNK: Final = 8 << 20
_SUFFIXES: Final = (*SUFFIXES, ".json")
_WEB: Final = ("http", "https")
_USER: Final = re.compile(r"(?<=://)[^/@]*@")


def found(address: str) -> tuple[list[Named], int]:
    """List the sessions that an address means.

    Args:
        address: of an object, a glob, or a folder; in a folder, and in those below it, objects are
            told by their suffix, for looking into each would mean to fetch it. A web address is
            always one object.

    Returns:
        The sessions, and how many objects were passed over.

    Raises:
        UsageError: fsspec is missing, or the store's own package, or nothing matches.
        InputError: the store cannot be listed, or the folder holds no session.
    """
    need("fsspec", "fleet", _label(address))
    with _explained(address, "listed"):
        store, path = _opened(address)
        if address.partition("://")[0] in _WEB:
            return [_named(address)], 0
        if any(sign in path for sign in "*?["):
            matches = [match for match in store.glob(path) if not store.isdir(match)]
            if not matches:
                raise UsageError(
                    "nothing matches", where=_label(address), remedy="Look at what the store holds"
                )
            return _named_in(address, path, matches, store), 0
        if not store.isdir(path):
            return [_named(address)], 0
        held = store.find(path)
    sessions = [each for each in held if each.lower().endswith(_SUFFIXES)]
    if not sessions:
        raise InputError(
            "the folder holds no session",
            where=_label(address),
            remedy=f"Name one, or give it a suffix: {' '.join(_SUFFIXES)}",
        )
    return _named_in(address, path, sessions, store), len(held) - len(sessions)


@contextmanager
def at_hand(named: Named, scratch: Path | None = None) -> Iterator[Path]:
    """Have a session as a file on this machine; what was fetched is gone afterwards.

    Args:
        named: the session.
        scratch: where to fetch to; by default the system's directory for what is temporary.

    Raises:
        InputError: it cannot be fetched.
        UsageError: fsspec is missing, or the store's own package.
    """
    if not named.is_remote:
        yield Path(named.address)
        return
    need("fsspec", "fleet", named.label)
    # Nobody else may look into such a directory.
    with tempfile.TemporaryDirectory(prefix="cachediag-", dir=scratch) as directory:
        path = Path(directory, "session")
        with _explained(named.address, "fetched"):
            store, remote = _opened(named.address)
            copy = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(copy, "wb") as file, store.open(remote, "rb") as object_:
                shutil.copyfileobj(object_, file, _CHUNK)
        yield path


def _opened(address: str) -> tuple[Any, str]:
    """The store of an address, and the path in it."""
    import fsspec
    from fsspec.registry import known_implementations

    try:
        store, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        # A store that is known is missing its package; one that is not is a slip of the pen.
        known = known_implementations.get(address.partition("://")[0])
        if known is None:
            raise UsageError(
                "no such kind of address",
                where=_label(address),
                remedy="Give a path, or an address that fsspec knows: s3://, gs://, az://, …",
            ) from error
        if isinstance(error, ValueError):
            raise
        package = known["class"].partition(".")[0]
        raise UsageError(
            "the store's own package is not installed",
            where=_label(address),
            remedy=known.get("err", "Install it")
            if package == "fsspec"
            else f"Install it: pip install {package}",
        ) from error
    return store, str(path)


def _named(address: str) -> Named:
    return Named(_label(address), address, is_remote=True)


def _named_in(address: str, path: str, held: list[str], store: Any) -> list[Named]:
    whole = address.rstrip("/")
    # What stands before the path, which may name a host, is the same for all of them.
    head = whole.removesuffix(path.rstrip("/")) if whole.endswith(path.rstrip("/")) else None
    return [
        _named(store.unstrip_protocol(each) if head is None else f"{head}{each}")
        for each in sorted(held)
    ]


def _label(address: str) -> str:
    """An address without what may be a credential: a user before the host, a web query."""
    label = _USER.sub("", address)
    return label.partition("?")[0] if label.partition("://")[0] in _WEB else label


@contextmanager
def _explained(address: str, doing: str) -> Iterator[None]:
    try:
        yield
    except CachediagError:
        raise
    # Every store has errors of its own.
    except Exception as error:
        raise InputError(
            f"cannot be {doing} ({_reason(error, address)})",
            where=_label(address),
            remedy="Look at the address, and at the store's own settings for credentials",
        ) from error


def _reason(error: Exception, address: str) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such object"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    said = (str(error).splitlines() or [""])[0]
    if not said or _label(address) != address:
        # What is said may repeat an address with a credential in it.
        return type(error).__name__
    return f"{type(error).__name__}: {said[:200]}"
