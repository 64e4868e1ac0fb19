"""What is in place: switches that are set and where, and what the backend does of its own."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cachediag.analysis.requests import Request, requests
from cachediag.fix import settings
from cachediag.fix.cures import Cure, cures_of
from cachediag.fix.settings import Variables
from cachediag.fix.switches import Client, Kind, Switch, recognised
from cachediag.model import Endpoint, Exchange, Finding
from cachediag.render import Profile

__all__ = [
    "BackendState",
    "Cause",
    "ClientState",
    "FileState",
    "SwitchState",
    "backend",
    "causes",
    "client",
]


@dataclass(frozen=True, slots=True)
class FileState:
    """One of a client's settings files."""

    kind: Kind
    variables: Variables
    is_read: bool
    """The client takes what it says."""


@dataclass(frozen=True, slots=True)
class SwitchState:
    """One switch of a client, as the client will find it when it is started here."""

    switch: Switch
    state: Literal["on", "other", "unset"]
    """`on`: set as it should be. `other`: set to something else."""
    value: str | None
    """What the client finds; None where it is not set."""
    source: str | None
    """The path of the file that says so, or `environment`."""
    overruled: tuple[tuple[str, str], ...]
    """Source and value of what is set too and does not count."""


@dataclass(frozen=True, slots=True)
class ClientState:
    """What is set for one client."""

    client: Client
    switches: tuple[SwitchState, ...]
    files: tuple[FileState, ...]
    """Those that are there, and those of the kinds that `fix env` writes; what wins first."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What broke prefixes in a session."""

    code: str
    requests: int
    """How many requests it broke, in the order in which the client sent them."""
    left: int
    """How many it breaks on the backend, which may move or delete text, with the switches that are
    on now; without a backend, in the order in which they were sent."""
    switches: tuple[str, ...]
    """The switches that are on now and remove it, in some request or in all."""


@dataclass(frozen=True, slots=True)
class BackendState:
    """What a backend does of its own."""

    profile: str
    cures: tuple[Cure, ...]


def client(told: Client, environ: Mapping[str, str], directory: Path) -> ClientState:
    """Look at what is set for a client.

    Args:
        told: the client.
        environ: the environment that it would be started in.
        directory: where it would be started.
    """
    # Started in the home directory, the user's file is the project's as well.
    kinds: dict[Path, Kind] = {}
    for file in told.files:
        kinds.setdefault(file.place(environ, directory), file.kind)
    found = [_file(told, kind, path) for path, kind in kinds.items()]
    return ClientState(
        told,
        tuple(_switch(switch, found, environ) for switch in told.switches),
        tuple(each for each in found if each.variables.exists or each.kind != "managed"),
    )


def _file(told: Client, kind: Kind, path: Path) -> FileState:
    said = settings.read(path)
    is_read = said.exists and said.problem is None and (said.is_plain or told.reads_comments)
    return FileState(kind, said, is_read)


def _switch(switch: Switch, files: Iterable[FileState], environ: Mapping[str, str]) -> SwitchState:
    said = [
        (str(file.variables.path), file.variables.values[switch.name])
        for file in files
        if file.is_read and switch.name in file.variables.values
    ]
    if switch.name in environ:
        said.append(("environment", environ[switch.name]))
    if not said:
        return SwitchState(switch, "unset", None, None, ())
    source, value = said[0]
    state: Literal["on", "other"] = "on" if switch.is_on(value) else "other"
    return SwitchState(switch, state, value, source, tuple(said[1:]))


def backend(profile: Profile, endpoint: Endpoint | None = None) -> BackendState:
    """What a backend does of its own.

    Args:
        profile: which backend, and which release.
        endpoint: what its requests call; by default any.
    """
    return BackendState(profile.name, cures_of(profile.name, endpoint))


def causes(
    exchanges: Callable[[], Iterable[Exchange]],
    load: Callable[[int], Exchange],
    profile: Profile | None,
    states: Iterable[ClientState],
) -> tuple[Cause, ...]:
    """What broke prefixes in a session, and what of it is taken care of.

    Args:
        exchanges: gives the session's exchanges in order, anew each time.
        load: reads one exchange by its index.
        profile: the backend; None where it is not known.
        states: what is set for the clients.
    """
    on = {
        state.client.id: tuple(each.switch for each in state.switches if each.state == "on")
        for state in states
    }
    sent = _Broken(on, load)
    sent.look(requests(exchanges(), load))
    behind = sent
    if profile is not None:
        behind = _Broken(on, load)
        behind.look(requests(exchanges(), load, profile))
    counts = sent.broken | behind.broken
    return tuple(
        Cause(
            code,
            sent.broken[code],
            behind.left[code],
            tuple(sorted(sent.answered[code] | behind.answered[code])),
        )
        for code, _ in counts.most_common()
    )


class _Broken:
    """In how many requests each code broke the prefix, and would with the switches that are on."""

    def __init__(
        self, on: Mapping[str, tuple[Switch, ...]], load: Callable[[int], Exchange]
    ) -> None:
        self._on = on
        self._load = load
        self.broken: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self.answered: defaultdict[str, set[str]] = defaultdict(set)

    def look(self, found: Iterable[Request]) -> None:
        """Count the breaks of a session."""
        for request in found:
            left = {
                finding.code
                for finding in request.breaks
                if not self._is_answered(finding, request)
            }
            self.left.update(left)
            self.broken.update({finding.code for finding in request.breaks})

    def _is_answered(self, finding: Finding, request: Request) -> bool:
        if not any(self._on.values()):
            return False

        def body() -> bytes:
            return self._load(request.info.index).request

        sender = recognised(request.info, body)
        switches = self._on.get(sender.client.id, ()) if sender else ()
        names = {each.name for each in switches if each.answers(finding, body)}
        self.answered[finding.code] |= names
        return bool(names)
