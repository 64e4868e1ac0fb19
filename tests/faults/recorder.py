"""A real `cachediag record`, in a process of its own."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cachediag.model import Exchange
from cachediag.session import Session
from tests.cli.running import bare
from tests.faults.net import PATIENCE

__all__ = ["Recorder", "recording", "until"]


def until(condition: Callable[[], object], what: str = "") -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@dataclass
class Recorder:
    """A recorder that is running, or has run."""

    process: "subprocess.Popen[bytes]"
    path: Path
    log: Path
    """What it said on stderr."""
    url: str = ""

    def said(self) -> str:
        return self.log.read_text()

    def saw(self, pattern: str) -> "re.Match[str]":
        """Wait until it has said something."""

        def found() -> "re.Match[str] | None":
            return re.search(pattern, self.said(), re.MULTILINE)

        until(lambda: found() or self.process.poll() is not None)
        match = found()
        assert match, f"{pattern!r} did not come in:\n{self.said()}"
        return match

    def told(self) -> list[str]:
        """What it warned of."""
        return [line for line in self.said().splitlines() if line.startswith("cachediag:")]

    def exchanges(self) -> list[Exchange]:
        with Session.open(self.path) as session:
            return list(session.exchanges())

    def stored(self, count: int) -> list[Exchange]:
        """Wait until it has stored so many exchanges."""

        def reached() -> bool:
            with Session.open(self.path) as session:
                return len(session) >= count

        until(reached, f"fewer than {count} exchanges were stored")
        return self.exchanges()

    def the_one(self, request: bytes) -> Exchange:
        """Wait for the exchange with that request."""
        found: list[Exchange] = []

        def look() -> bool:
            found[:] = [each for each in self.exchanges() if each.request == request]
            return bool(found)

        until(look, f"{request[:80]!r} was not stored")
        (only,) = found
        return only

    def memory(self) -> int:
        """Bytes of memory that it has."""
        said = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(self.process.pid)],
            capture_output=True,
            check=True,
            text=True,
        )
        return int(said.stdout) * 1024

    def end(self, number: int = signal.SIGINT) -> int:
        """End it by a signal; give the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def recording(
    upstream: str,
    directory: Path,
    *words: str,
    client: Sequence[str] = (),
    path: Path | None = None,
    program: Sequence[str] = ("-m", "cachediag"),
    trusted: Path | None = None,
) -> Iterator[Recorder]:
    """Run a recorder before an upstream; whatever is left of it at the end is killed.

    Args:
        upstream: its URL.
        directory: where it runs.
        words: options.
        client: a command to run, whose end is the recorder's.
        path: the session; without it one in `directory`.
        program: what Python runs.
        trusted: certificates that the upstream is checked with.
    """
    path = path or directory / "s.cachediag"
    trust = {"SSL_CERT_FILE": str(trusted)} if trusted else {}
    log = directory / f"{path.name}.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [
                *(sys.executable, *program, "record", "--upstream", upstream, "-o", str(path)),
                *(*words, "--", *client),
            ],
            cwd=directory,
            env=bare(directory / "home") | trust,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
    recorder = Recorder(process, path, log)
    try:
        recorder.url = recorder.saw(r"^(127\.0\.0\.1:\d+) ")[1]
        recorder.url = f"http://{recorder.url}"
        if not client:
            recorder.saw("^Ctrl-C ends")
        yield recorder
    finally:
        process.kill()
        process.wait()
