"""Made-up sessions on disk, and workers that misbehave."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from cachediag.batch.model import Named, Outcome, Settings
from cachediag.batch.workers import _on_worker
from cachediag.model import Exchange
from cachediag.session import Session
from tests.analysis.sessions import main, recorded, sub_agent

ON_WORKER = _on_worker


def exchanges(number: int) -> list[Exchange]:
    """A session; those of two numbers differ in text and in how many requests they have."""
    turns = [f"turn {number}-{turn}" for turn in range(2 + number % 3)]
    talk = [main(*turns[:count], header=f"{number:04x}{count}") for count in range(len(turns))]
    return recorded([*talk, sub_agent(f"Look for {number}")])


def store(path: Path, number: int = 0) -> Path:
    """A session file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with Session.create(path) as made:
        for exchange in exchanges(number):
            made.append(exchange)
    return path


def folder_of_bodies(path: Path, number: int = 0) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for each in exchanges(number):
        (path / f"{each.info.index}.json").write_bytes(each.request)
    return path


def stored(directory: Path, count: int) -> list[Named]:
    """So many sessions, named by their number."""
    paths = [store(directory / f"{number}.cachediag", number) for number in range(count)]
    return [Named(path.stem, str(path)) for path in paths]


def slow(sessions: Sequence[Named], settings: Settings) -> list[Outcome]:
    """Take a while, so that a test can act meanwhile."""
    time.sleep(0.3)
    return ON_WORKER(sessions, settings)


def deadly(sessions: Sequence[Named], settings: Settings) -> list[Outcome]:
    """End the worker in which session 1 is analysed, every time."""
    if any(named.label == "1" for named in sessions):
        os.kill(os.getpid(), signal.SIGKILL)
    return ON_WORKER(sessions, settings)
