"""What the live tests ask of a recording, by the commands that a user has for it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .clients import KEY, Finished, cachediag
from .upstream import Received

__all__ = ["Recording"]


@dataclass(frozen=True, slots=True)
class Recording:
    """A session file, and what the upstream knows of it."""

    session: Path
    received: list[Received]
    """The requests that carry a prompt, in the order in which they reached the upstream."""
    finished: list[Finished]
    """The `record` commands that made it."""
    env: Mapping[str, str]

    def command(self, *words: str | Path) -> Finished:
        return cachediag(*words, env=self.env, cwd=self.session.parent)

    def ok(self, *words: str | Path) -> bytes:
        """The standard output of a command that must succeed without a word on stderr."""
        done = self.command(*words)
        if done.code != 0 or done.stderr:
            pytest.fail(f"{words}: exit code {done.code}\n{done.stderr}")
        return done.stdout

    def requests(self) -> list[dict[str, Any]]:
        """The recorded requests that carry a prompt, as `show` lists them."""
        listed = json.loads(self.ok("show", self.session, "--format", "json"))["requests"]
        return [each for each in listed if each["endpoint"] in {"messages", "chat"}]

    def body(self, index: int) -> bytes:
        return self.ok("show", self.session, str(index), "--body")

    def pairs(self) -> dict[int, dict[str, Any]]:
        """Each request's comparison with its parent, by the request's index."""
        document = json.loads(self.command("diff", self.session, "--format", "json").stdout)
        assert document["schema"] == "cachediag.diffs/1"
        return {pair["request"]: pair for pair in document["pairs"]}

    def assert_no_credential(self) -> None:
        for file in self.session.parent.glob(self.session.name + "*"):
            assert KEY.encode() not in file.read_bytes()
            assert file.stat().st_mode & 0o077 == 0
