"""What the hosted caches share: entries that live for a while, and what they cost."""

from collections.abc import Hashable
from dataclasses import dataclass

from cachediag.analysis.engines.model import Served

__all__ = ["Entries", "Entry", "Price", "money"]


@dataclass(slots=True)
class Entry:
    """A prefix that was written. Times are None where the requests' are not known."""

    seconds: float
    """How long it lives after it was last written or read."""
    used: float | None
    readable: float | None
    """When the response began that wrote it."""

    def alive(self, now: float | None) -> bool:
        """Whether it can still be found."""
        return self.used is None or now is None or now <= self.used + self.seconds

    def ready(self, now: float | None) -> bool:
        """Whether it can be found already."""
        return self.readable is None or now is None or now >= self.readable


class Entries:
    """Written prefixes by their keys."""

    def __init__(self) -> None:
        self._entries: dict[Hashable, Entry] = {}

    def find(self, key: Hashable) -> Entry | None:
        """The entry, living or not; None where nothing was ever written there."""
        return self._entries.get(key)

    def write(
        self, key: Hashable, seconds: float, started: float | None, readable: float | None
    ) -> None:
        """Write an entry, or use one that lives: its time begins anew with the request's start."""
        old = self._entries.get(key)
        if old is not None and old.alive(started):
            old.seconds = max(old.seconds, seconds)
            if started is not None:
                old.used = started
        else:
            self._entries[key] = Entry(seconds, started, readable)


@dataclass(frozen=True, slots=True)
class Price:
    """What a model's input costs, in dollars for a million tokens, and multiples of it."""

    input: float
    write: float
    write_1h: float
    read: float
    as_of: str
    """The month in which the vendor's page was read, `2026-10`."""


def money(tokens: int, served: Served, price: Price) -> float:
    """Dollars for a prompt: what was read, what was written, and the rest at the input price."""
    written = served.created - served.created_1h
    rest = tokens - served.reused - served.created
    units = (
        rest
        + served.reused * price.read
        + written * price.write
        + served.created_1h * price.write_1h
    )
    return units * price.input / 1_000_000
