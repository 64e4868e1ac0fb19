"""What every stage after capture reads exchanges from: a session file or an imported collection."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from cachediag.errors import UsageError
from cachediag.model import Exchange, ExchangeInfo

__all__ = ["MemorySource", "Source", "Wrapped", "no_request", "numbered"]


class Source(Protocol):
    """Recorded exchanges, numbered from 0 in the order in which they were recorded."""

    @property
    def name(self) -> str:
        """What a report calls it: the file's name without its suffix."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What the user must be told of how it was read, a line each: what was left out."""
        ...

    def infos(self) -> Iterable[ExchangeInfo]:
        """Return all of each exchange but its bodies."""
        ...

    def exchange(self, index: int) -> Exchange:
        """Return one exchange.

        Raises:
            UsageError: there is none of that number.
        """
        ...

    def exchanges(self) -> Iterator[Exchange]:
        """Yield all exchanges in order."""
        ...


@dataclass(frozen=True, slots=True)
class MemorySource:
    """A collection of exchanges held in memory; make it with `numbered`."""

    name: str
    items: tuple[Exchange, ...]
    notes: tuple[str, ...] = ()

    def infos(self) -> Iterable[ExchangeInfo]:
        """Return all of each exchange but its bodies."""
        return tuple(item.info for item in self.items)

    def exchange(self, index: int) -> Exchange:
        """Return one exchange.

        Raises:
            UsageError: there is none of that number.
        """
        if not 0 <= index < len(self.items):
            raise no_request(self.name, index, len(self.items))
        return self.items[index]

    def exchanges(self) -> Iterator[Exchange]:
        """Yield all exchanges in order."""
        return iter(self.items)


@dataclass(frozen=True, slots=True)
class Wrapped:
    """Another source, read in another way: a kind of it says what becomes of each exchange."""

    source: Source

    @property
    def name(self) -> str:
        """What a report calls it."""
        return self.source.name

    @property
    def notes(self) -> Sequence[str]:
        """What the user must be told of how it was read."""
        return self.source.notes

    def infos(self) -> Iterable[ExchangeInfo]:
        """Return all of each exchange but its bodies."""
        return map(self.read_info, self.source.infos())

    def exchange(self, index: int) -> Exchange:
        """Return one exchange.

        Raises:
            UsageError: there is none of that number.
        """
        return self.read(self.source.exchange(index))

    def exchanges(self) -> Iterator[Exchange]:
        """Yield all exchanges in order."""
        return map(self.read, self.source.exchanges())

    def read(self, exchange: Exchange) -> Exchange:
        """Give what becomes of an exchange: nothing."""
        return exchange

    def read_info(self, info: ExchangeInfo) -> ExchangeInfo:
        """Give what becomes of an exchange's description: nothing."""
        return info


def numbered(name: str, exchanges: Iterable[Exchange], notes: Iterable[str] = ()) -> MemorySource:
    """Make a source of exchanges, setting each one's index and sizes."""
    items = tuple(
        replace(
            item,
            info=replace(
                item.info,
                index=index,
                request_size=len(item.request),
                response_size=len(item.response),
                outgoing_size=None if item.outgoing is None else len(item.outgoing),
            ),
        )
        for index, item in enumerate(exchanges)
    )
    return MemorySource(name, items, tuple(notes))


def no_request(name: str, index: int, count: int) -> UsageError:
    """Return the error for a request number that a source does not have."""
    held = f"it holds {count}, numbered from 0 to {count - 1}" if count else "it holds none"
    return UsageError(
        f"no request {index}: {held}", where=name, remedy="List them: cachediag show SESSION"
    )
