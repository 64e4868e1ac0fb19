"""The clients that are known, how a request of each is recognised, and its switches.

A client is a file in `clients/`, dated and with its sources; a newcomer adds a file.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from cachediag.model import ExchangeInfo, Finding, Json
from cachediag.protocol import jsontext
from cachediag.rules.engine.places import PathError, places

__all__ = ["Client", "Kind", "Sender", "SettingsFile", "Switch", "clients", "recognised"]

Kind = Literal["managed", "local", "project", "user"]
"""Whose settings a file holds: the organisation's, the user's in one project, everybody's in it, or
the user's in all."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Place:
    """Texts of a request: those at some paths that a pattern is found in."""

    paths: tuple[str, ...]
    """As rules write them; `@` stands for the finding's own path."""
    pattern: re.Pattern[str]

    def is_in(self, body: bytes, finding: Finding) -> bool:
        """Whether a text at one of the paths has a line that the pattern fits."""
        paths = [path.replace("@", finding.path or "@") for path in self.paths]
        return any(self.pattern.search(text) for text in _texts(body, paths))


def _texts(body: bytes, paths: Iterable[str]) -> Iterator[str]:
    """The texts at some paths; of a path that no rule could have there is none."""
    for path in paths:
        with suppress(PathError):
            for place in places(body, path):
                value = jsontext.decode(body[slice(*place.span)])
                if isinstance(value, str):
                    yield value


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """An environment variable by which a client leaves a cause out of its requests."""

    name: str
    value: str
    also: tuple[str, ...] = ()
    """Other values that the client takes for the same."""
    codes: tuple[str, ...]
    """The findings that it answers."""
    removes: str
    effects: tuple[str, ...]
    """What else it does, a sentence each."""
    since: str | None = None
    """The first release that has it; None where that is not known, or all that are known do."""
    tested: tuple[str, ...] = ()
    """Releases on which its effect was seen."""
    sources: tuple[str, ...]
    message: re.Pattern[str] | None = None
    """It answers only a finding whose message this fits."""
    where: Place | None = None
    """It answers only a finding in a request that has this."""
    unless: Place | None = None
    """It answers no finding in a request that has this: there it is on, or would change nothing."""

    def is_on(self, value: str) -> bool:
        """Whether this value of the variable switches it as wanted."""
        return value.strip().lower() in (self.value, *self.also)

    def answers(self, finding: Finding, body: Callable[[], bytes]) -> bool:
        """Whether it removes the cause of a finding.

        Args:
            finding: one of any code.
            body: gives the later request; asked only where it is needed.
        """
        if finding.code not in self.codes:
            return False
        if self.message is not None and not self.message.search(finding.message):
            return False
        if self.where is not None and not self.where.is_in(body(), finding):
            return False
        return self.unless is None or not self.unless.is_in(body(), finding)

    def is_in(self, version: str | None) -> bool:
        """Whether a release has it; one that is not known is taken to."""
        if version is None or self.since is None:
            return True
        return _release(version) >= _release(self.since)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in _DIGITS.findall(version))


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file whose `env` a client reads."""

    kind: Kind
    path: str
    """From the root, from the home directory (`~/`), or else from where the client is started."""
    moved_by: str | None = None
    """A variable that names the directory it is in instead."""

    def place(self, environ: Mapping[str, str], directory: Path) -> Path:
        """Where it is.

        Args:
            environ: the environment of the client.
            directory: where the client is started.
        """
        if self.moved_by and (moved := environ.get(self.moved_by)):
            return directory / moved / Path(self.path).name
        if self.path.startswith("~/"):
            home = environ.get("HOME")
            return (Path(home) if home else Path.home()) / self.path[2:]
        return directory / self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that sends requests, and what it can be told."""

    id: str
    name: str
    command: str
    checked: date
    """When this was last held against the client's releases and their documentation."""
    user_agent: re.Pattern[str]
    billing_line: re.Pattern[str] | None = None
    """How its first system text begins."""
    user_id: re.Pattern[str] | None = None
    """How its `metadata.user_id` begins."""
    files: tuple[SettingsFile, ...] = ()
    """Its settings files, what wins first; all of them win over its environment."""
    reads_comments: bool = False
    """It reads settings files with comments and trailing commas."""
    switches: tuple[Switch, ...]

    def file(self, kind: Kind) -> SettingsFile:
        """The first settings file of a kind."""
        return next(file for file in self.files if file.kind == kind)


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a request: a client, and which release of it where that is told."""

    client: Client
    version: str | None

    def __str__(self) -> str:
        return f"{self.client.name} {self.version}" if self.version else self.client.name


@cache
def clients() -> tuple[Client, ...]:
    """Every client that has a file."""
    entries = sorted(files(__package__).joinpath("clients").iterdir(), key=lambda each: each.name)
    return tuple(
        _client(tomllib.loads(entry.read_text(encoding="utf-8")))
        for entry in entries
        if entry.name.endswith(".toml")
    )


def _client(told: Mapping[str, Json]) -> Client:
    patterns = {
        key: re.compile(told[key])
        for key in ("user_agent", "billing_line", "user_id")
        if key in told
    }
    settings = tuple(SettingsFile(**each) for each in told.get("files", ()))
    switches = tuple(_switch(each) for each in told["switches"])
    return Client(**{**told, **patterns, "files": settings, "switches": switches})


def _switch(told: Mapping[str, Json]) -> Switch:
    made: dict[str, Json] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in told.items()
    }
    for key in ("where", "unless"):
        if key in told:
            pattern = re.compile(told[key]["pattern"], re.MULTILINE)
            made[key] = Place(tuple(told[key]["paths"]), pattern)
    if "message" in told:
        made["message"] = re.compile(told["message"])
    return Switch(**made)


def recognised(info: ExchangeInfo, body: Callable[[], bytes]) -> Sender | None:
    """Who sent a request; None where it is no client that has a file.

    The user-agent tells. Where it was not recorded, what the client itself puts into the body
    does: its billing line at the head of the system prompt, or the form of its user id. Text of
    a user or of the model plays no part.

    Args:
        info: what was recorded of the request.
        body: gives the request; asked only where it is needed.
    """
    agent = info.headers.get("user-agent")
    for client in clients():
        if agent is not None:
            if match := client.user_agent.match(agent):
                return Sender(client, match[1])
        elif sender := _by_body(client, body()):
            return sender
    return None


def _by_body(client: Client, body: bytes) -> Sender | None:
    leads = _text(body, ("messages[0].role",)) in ("system", "developer")
    head = _text(body, (*_SYSTEM, *(_SYSTEM_MESSAGE if leads else ())))
    if client.billing_line and (match := client.billing_line.match(head)):
        return Sender(client, match[1])
    if client.user_id and client.user_id.match(_text(body, _USER)):
        return Sender(client, None)
    return None


_SYSTEM = ("system[0].text", "system", "instructions")
# What a converter made of the system prompt; a user's own message is not looked at.
_SYSTEM_MESSAGE = ("messages[0].content", "messages[0].content[0].text")
_USER = ("metadata.user_id",)


def _text(body: bytes, paths: tuple[str, ...]) -> str:
    """The first text at one of the paths; an empty one where there is none."""
    return next(_texts(body, paths), "")
