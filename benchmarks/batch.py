"""Many sessions analysed by one process and by two, taking turns."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.material import Agent
from cachediag.model import Exchange, ExchangeInfo
from cachediag.session import Session

__all__ = ["measure"]

_GROUP = "batch"
_SESSIONS = 200
_TURNS = 75
_LAST_SIZE = 220_000
_GIGA = 1e9
# Each stands before the other as often as after it.
_TURNS_TAKEN = (1, 2, 2, 1)


def measure() -> Iterator[Figure]:
    """Analyse 200 sessions, 2 GB of bodies, as the command does, its start included.

    Raises:
        RuntimeError: two workers write other rows than one.
    """
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory)
        raw = sum(_store(base / "runs" / f"{seed:03}.cachediag", seed) for seed in range(_SESSIONS))
        yield Figure(group=_GROUP, name="raw bodies", value=raw / _GIGA, unit="GB")
        stored = sum(file.stat().st_size for file in (base / "runs").iterdir())
        yield Figure(group=_GROUP, name="session files", value=stored / 1e6, unit="MB")
        _fill_caches(base)
        seconds: dict[int, list[float]] = {1: [], 2: []}
        rows = [base / f"{turn}.parquet" for turn in range(len(_TURNS_TAKEN))]
        for workers, path in zip(_TURNS_TAKEN, rows, strict=True):
            seconds[workers].append(_analyse(base / "runs", workers, path))
        if len({path.read_bytes() for path in rows}) > 1:
            raise RuntimeError("two workers write other rows than one")
        requests = pq.read_metadata(rows[0]).num_rows
        size = rows[0].stat().st_size
    one, two = (sum(taken) / len(taken) for taken in (seconds[1], seconds[2]))
    yield Figure(
        group=_GROUP, name="2 workers / 1, speed", value=one / two, unit="×", aim=1.6, better="more"
    )
    yield Figure(group=_GROUP, name="1 worker", value=one, unit="s")
    yield Figure(group=_GROUP, name="2 workers", value=two, unit="s")
    yield Figure(
        group=_GROUP, name="requests an hour, 1 worker", value=requests / one * 3600, unit=""
    )
    yield Figure(
        group=_GROUP, name="requests an hour, 2 workers", value=requests / two * 3600, unit=""
    )
    yield Figure(group=_GROUP, name="Parquet a row", value=size / requests, unit="bytes")


def _store(path: Path, seed: int) -> int:
    """Store a session; give the bytes of its bodies."""
    path.parent.mkdir(exist_ok=True)
    size = 0
    with Session.create(path) as session:
        for number, body in enumerate(Agent(seed).session(_TURNS, _LAST_SIZE)):
            size += len(body)
            info = ExchangeInfo(
                endpoint="messages",
                path="/v1/messages",
                model="claude-sonnet-4-6",
                started=1_764_400_000.0 + 97 * seed + 31.25 * number,
            )
            session.append(Exchange(info, body))
    return size


def _fill_caches(base: Path) -> None:
    """Have the modules compiled and read once that all runs start from."""
    for seed in range(2):
        _store(base / "first" / f"{seed}.cachediag", seed)
    _analyse(base / "first", 2, base / "first.parquet")


def _analyse(runs: Path, workers: int, rows: Path) -> float:
    words = ("analyze", runs, "--workers", workers, "-o", rows)
    by = ("--profile", "vllm-mlx@0.3.0", "--model", "qwen3", "--format", "json")
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "cachediag", *map(str, words), *by],
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return time.perf_counter() - begun
