"""What the live tests ask of a recording, by the commands that a user has for it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cachediag.session import Session

from .clients import KEY, Finished, cachediag
from .upstream import Received

__all__ = ["Pair", "Recording", "breaks", "codes"]

Pair = dict[str, Any]
"""One request held against its parent, as `diff --format json` tells of it."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A session file, and what the upstream knows of it."""

    session: Path
    received: list[Received]
    """The requests that carry a prompt, in the order in which they reached the upstream."""
    finished: list[Finished]
    """The `record` commands that made it."""
    env: Mapping[str, str]

    def listed(self) -> list[dict[str, Any]]:
        """The recorded requests that carry a prompt, as `show` lists them."""
        shown = self._document("show", self.session, "--format", "json")["exchanges"]
        return [each for each in shown if each["endpoint"] in {"messages", "chat"}]

    def body(self, index: int) -> bytes:
        return self._stdout("show", self.session, str(index), "--body")

    def pairs(self) -> dict[int, Pair]:
        """Every request's comparison with its parent, by the request's number."""
        document = self._document("diff", self.session, "--format", "json")
        assert document["schema"] == "cachediag.diffs/1"
        return {pair["request"]: pair for pair in document["pairs"]}

    def pair(self, a: int, b: int) -> Pair:
        numbers = ("--pair", f"{a}:{b}")
        document: Pair = self._document("diff", self.session, *numbers, "--format", "json")
        assert document["schema"] == "cachediag.diff/1"
        return document

    def stored(self) -> list[tuple[str, bytes, bytes]]:
        """Path, body and answer of each recorded request that carries a prompt."""
        session = Session.open(self.session)
        try:
            return [
                (exchange.info.path, exchange.request, exchange.response)
                for exchange in session.exchanges()
                if exchange.info.endpoint in {"messages", "chat"}
            ]
        finally:
            session.close()

    def assert_private(self) -> None:
        """No credential in the session's files, and nobody else can read them."""
        files = list(self.session.parent.glob(f"{self.session.name}*"))
        assert files
        for file in files:
            assert KEY.encode() not in file.read_bytes()
            assert file.stat().st_mode & 0o077 == 0
        shown = self._stdout("show", self.session, "--format", "json")
        assert KEY.encode() not in shown

    def _document(self, *words: str | Path) -> Any:
        return json.loads(self._stdout(*words))

    def _stdout(self, *words: str | Path) -> bytes:
        done = cachediag(*words, env=self.env, cwd=self.session.parent)
        if done.code != 0 or done.stderr:
            pytest.fail(f"{words}: exit code {done.code}\n{done.stderr}")
        return done.stdout


def breaks(pair: Pair) -> list[tuple[str, str]]:
    """Code and path of every finding that ended the shared prefix."""
    return [
        (each["code"], each["path"]) for each in pair["findings"] if each["severity"] == "break"
    ]


def codes(pair: Pair) -> set[str]:
    return {each["code"] for each in pair["findings"]}
