"""Scenario files: TOML that says what is played, on what servers, and what is taken for granted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cachediag.backends.choosing import choice_for
from cachediag.capture.importers import open_source
from cachediag.errors import CachediagError, InputError
from cachediag.session import Outgoing
from cachediag.simulate.comparison import SEEDS, Fleet
from cachediag.simulate.model import Change, Server, Workload
from cachediag.simulate.policies import policy
from cachediag.simulate.workloads import mooncake, recorded
from cachediag.simulate.workloads.amounts import Spread
from cachediag.simulate.workloads.arrivals import arrivals
from cachediag.simulate.workloads.chats import Chats
from cachediag.simulate.workloads.shared_prefix import SharedPrefix

__all__ = ["Scenario", "named", "parse_scenario", "read_scenario", "shipped"]

_T = TypeVar("_T")
_VERSION = 1
_MOST_BYTES = 256_000
_ENDING = ".toml"
_SHIPPED = files("cachediag.simulate") / "scenarios"
_FORMAT = "docs/simulate.md describes scenario files."


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a scenario file says."""

    name: str
    """The file's, without its ending."""
    about: str
    """What it is to show, in a line."""
    fleet: Fleet
    policies: tuple[str, ...]
    """As on the command line."""
    assumed: tuple[str, ...]
    """What is taken for granted, a line each, as its author puts it."""


def shipped() -> tuple[str, ...]:
    """The names of the scenarios that come along, in the order of the alphabet."""
    found = (each.name for each in _SHIPPED.iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING)))


def named(name: str) -> Scenario | None:
    """The scenario of that name that comes along; None if there is none."""
    if name not in shipped():
        return None
    text = (_SHIPPED / (name + _ENDING)).read_text(encoding="utf-8")
    return parse_scenario(text, name + _ENDING)


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file.

    Files that it names are looked for from its own folder.

    Raises:
        InputError: it cannot be read, or is no scenario file. Says the table, the key and the mend.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except UnicodeDecodeError:
        raise InputError(
            "no scenario file: not text in UTF-8", where=str(path), remedy=_FORMAT
        ) from None
    if len(data) > _MOST_BYTES:
        raise InputError(
            f"no scenario file: larger than {_MOST_BYTES // 1000} kB",
            where=str(path),
            remedy=_FORMAT,
        )
    return parse_scenario(text, str(path))


def parse_scenario(text: str, where: str) -> Scenario:
    """Read the text of a scenario file.

    Args:
        text: the whole of it.
        where: its path, which errors begin with, and where files are looked for that it names.

    Raises:
        InputError: it is no scenario file. Says the table, the key and the mend.
    """
    try:
        table = msgspec.toml.decode(text)
    except msgspec.DecodeError as error:
        message = f"no scenario file: {error}"
        raise InputError(message, where=where, remedy="Write name = value, a line each.") from None
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits is not told as an error of the language.
        deep = isinstance(error, RecursionError)
        what = "nested too deeply" if deep else "a number too long"
        raise InputError(f"no scenario file: {what}", where=where, remedy=_FORMAT) from None
    try:
        return _scenario(table, Path(where))
    except CachediagError as error:
        if error.where == where:
            raise
        message = f"{error.where}: {error.message}" if error.where else error.message
        raise InputError(message, where=where, remedy=error.remedy) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    version: int
    about: str
    policies: tuple[str, ...]
    workload: dict[str, Any]
    server: dict[str, Any]
    fleet: dict[str, Any]
    change: tuple[dict[str, Any], ...] = ()
    repeats: int = 5
    seed: int = 0
    limit: int | None = None
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replicas:
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mooncake:
    path: str
    arrivals: str = "recorded"
    block: int = mooncake.BLOCK
    repeat: int = 1

    def workload(self, folder: Path) -> Workload:
        return mooncake.read(
            folder / self.path,
            arrivals=arrivals(self.arrivals),
            block=self.block,
            repeat=self.repeat,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    path: str
    profile: str | None = None
    model: str | None = None
    arrivals: str = "recorded"
    closed: bool = False
    block: int = 16

    def workload(self, folder: Path) -> Workload:
        source = Outgoing(open_source(folder / self.path))
        return recorded.workload(
            source,
            choice_for(source, self.profile, self.model),
            block=self.block,
            arrivals=arrivals(self.arrivals),
            closed=self.closed,
        )


def _scenario(table: Mapping[str, Any], path: Path) -> Scenario:
    # A file of another version need not have any other key as here.
    if table.get("version", _VERSION) != _VERSION:
        raise InputError(
            f"a scenario file of version {table['version']!r}; this cachediag reads {_VERSION}",
            remedy="Write version = 1, or update cachediag.",
        )
    file = _filled(_File, table, "")
    server = _filled(Server, file.server, "[server]")
    _check_server(server)
    for spec in file.policies:
        policy(spec)
    if not file.policies:
        raise InputError("policies is empty", remedy='Name some: policies = ["random"]')
    for key, value in (("repeats", file.repeats), ("limit", file.limit)):
        if value is not None and value < 1:
            raise InputError(f"{key} must be 1 or more, not {value}")
    if file.seed not in SEEDS:
        raise InputError(f"seed must be from 0 to {SEEDS[-1]}, not {file.seed}")
    fleet = Fleet(
        workload=_workload(file.workload, path.parent),
        server=server,
        replicas=_filled(_Replicas, file.fleet, "[fleet]").replicas,
        changes=tuple(_filled(Change, each, "[[change]]") for each in file.change),
        repeats=file.repeats,
        seed=file.seed,
        limit=file.limit,
    )
    return Scenario(
        name=path.name.removesuffix(_ENDING),
        about=file.about,
        fleet=fleet,
        policies=file.policies,
        assumed=file.assumed,
    )


def _shared_prefix(table: Mapping[str, Any], _folder: Path) -> Workload:
    return _filled(SharedPrefix, table, "[workload]").workload()


def _chats(table: Mapping[str, Any], _folder: Path) -> Workload:
    return _filled(Chats, table, "[workload]").workload()


def _mooncake(table: Mapping[str, Any], folder: Path) -> Workload:
    return _filled(_Mooncake, table, "[workload]").workload(folder)


def _session(table: Mapping[str, Any], folder: Path) -> Workload:
    return _filled(_Session, table, "[workload]").workload(folder)


_KINDS: dict[str, Callable[[Mapping[str, Any], Path], Workload]] = {
    "shared-prefix": _shared_prefix,
    "chats": _chats,
    "mooncake": _mooncake,
    "session": _session,
}


def _workload(table: Mapping[str, Any], folder: Path) -> Workload:
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        said = "no kind" if kind is None else f"kind = {kind!r}, which there is not"
        raise InputError(f"[workload] has {said}", remedy=f"Choose one of: {', '.join(_KINDS)}.")
    return _KINDS[kind]({key: value for key, value in table.items() if key != "kind"}, folder)


def _check_server(server: Server) -> None:
    for key in ("prefill_rate", "decode_rate", "batch_rate", "concurrency", "capacity"):
        value = getattr(server, key)
        if value is not None and value <= 0:
            raise InputError(f"{key} of [server] must be above 0, not {value:g}")
    if server.latency < 0:
        raise InputError(f"latency of [server] must be 0 or more, not {server.latency:g}")


def _filled(kind: type[_T], table: Mapping[str, Any], name: str) -> _T:
    """An object of some dataclass, from a table whose keys are its fields.

    Raises:
        InputError: a key is unknown or missing, or a value of another kind.
        UsageError: the values make no sense together.
    """
    inside = f" of {name}" if name else ""
    _check_keys(table, kind, name or "the file")
    for key, value in table.items():
        # A workload's amounts are the only tables within tables; the file's own are read in turn.
        if name and isinstance(value, dict):
            _check_keys(value, Spread, key + inside)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        wrong, _, key = str(error).partition(" - at `$.")
        at = f"{key.rstrip('`')}{inside}" if key else name
        message = f"{at}: {wrong[:1].lower()}{wrong[1:]}" if at else wrong
        raise InputError(message, remedy=_FORMAT) from None


def _check_keys(table: Mapping[str, Any], kind: type, name: str) -> None:
    known = [each.name for each in fields(kind)]
    for key in table:
        if key not in known:
            raise InputError(
                f"{name} has no key {key!r}", remedy=f"Its keys are: {', '.join(known)}."
            )
