"""Replicas that are what a test says they are."""

from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from cachediag.simulate.model import Request

__all__ = ["FakeCache", "FakeReplica", "fleet"]


@dataclass(frozen=True)
class FakeCache:
    """Holds some blocks, and learns none."""

    blocks: tuple[int, ...] = ()

    def begin(self, request: Request, now: float) -> int:
        return 0

    def end(self, request: Request, now: float) -> None:
        pass

    def held(self, blocks: tuple[int, ...]) -> int:
        return len(list(takewhile(self.blocks.__contains__, blocks)))


@dataclass(frozen=True)
class FakeReplica:
    """Stands still."""

    id: int
    outstanding: int = 0
    waiting: int = 0
    prefilling: bool = False
    tokens: int = 0
    cache: FakeCache = field(default_factory=FakeCache)


def fleet(ids: str = "012", **given: Any) -> list[FakeReplica]:
    """Replicas of these ids, each with its own of the values given for each field."""
    return [
        FakeReplica(int(number), **{name: values[at] for name, values in given.items()})
        for at, number in enumerate(ids)
    ]
