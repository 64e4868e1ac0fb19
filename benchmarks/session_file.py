"""A long session: how small its file is, and how fast it is read back."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.material import Agent
from cachediag.model import Exchange, ExchangeInfo
from cachediag.session import Session

__all__ = ["measure"]

_GROUP = "session file"
_TURNS = 300
_LAST_SIZE = 400_000
_MEGA = 1e6
_READS = 3


def measure() -> Iterator[Figure]:
    """Write 300 turns that grow to 400 KB a body; read them back, byte for byte.

    Raises:
        RuntimeError: a body comes back other than it went in.
    """
    bodies = list(Agent(seed=7).session(_TURNS, _LAST_SIZE))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "long.cachediag")
        appended = _write(path, bodies)
        raw = sum(map(len, bodies))
        yield Figure(group=_GROUP, name="raw bodies", value=raw / _MEGA, unit="MB")
        yield Figure(group=_GROUP, name="largest body", value=len(bodies[-1]) / 1e3, unit="KB")
        stored = sum(file.stat().st_size for file in path.parent.iterdir())
        yield Figure(
            group=_GROUP, name="file / raw bodies", value=100 * stored / raw, unit="%", aim=3
        )
        yield Figure(group=_GROUP, name="append, median", value=1e3 * appended, unit="ms")
        plain = Path(directory, "plain")
        _write_plain(plain, bodies)
        ours = min(_read(path, bodies) for _ in range(_READS))
        theirs = min(_read_plain(plain) for _ in range(_READS))
        yield Figure(
            group=_GROUP,
            name="read back",
            value=raw / _MEGA / ours,
            unit="MB/s",
            aim=150,
            better="more",
        )
        yield Figure(
            group=_GROUP, name="read back / plain files, time", value=ours / theirs, unit="×"
        )


def _write(path: Path, bodies: list[bytes]) -> float:
    """Append every body; give the median seconds of one."""
    taken = []
    with Session.create(path) as session:
        for body in bodies:
            info = ExchangeInfo(endpoint="messages", path="/v1/messages", request_size=len(body))
            begun = time.perf_counter()
            session.append(Exchange(info, body))
            taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def _read(path: Path, bodies: list[bytes]) -> float:
    begun = time.perf_counter()
    with Session.open(path) as session:
        read = [exchange.request for exchange in session.exchanges()]
    taken = time.perf_counter() - begun
    if read != bodies:
        raise RuntimeError("the session file does not give back the bytes that it was given")
    return taken


def _write_plain(directory: Path, bodies: list[bytes]) -> None:
    directory.mkdir()
    for number, body in enumerate(bodies):
        (directory / f"{number:03}.json").write_bytes(body)


def _read_plain(directory: Path) -> float:
    begun = time.perf_counter()
    for path in sorted(directory.iterdir()):
        path.read_bytes()
    return time.perf_counter() - begun
