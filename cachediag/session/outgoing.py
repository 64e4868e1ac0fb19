"""A session as the server saw it: each request as it went on, not as the client sent it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cachediag.model import Exchange, ExchangeInfo
from cachediag.session.source import Source

__all__ = ["Outgoing", "sent_on"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A source whose requests are those that went on to the server.

    What a backend prefills is what reached it, so this is what is compared and analysed.
    """

    source: Source
    """The exchanges as they were recorded."""

    @property
    def name(self) -> str:
        """What a report calls it."""
        return self.source.name

    @property
    def notes(self) -> Sequence[str]:
        """What the user must be told of how it was read."""
        return self.source.notes

    @property
    def changed(self) -> int:
        """How many requests went on other than they came."""
        return sum(info.outgoing_size is not None for info in self.source.infos())

    def infos(self) -> Iterable[ExchangeInfo]:
        """Return all of each exchange but its bodies."""
        return map(_info, self.source.infos())

    def exchange(self, index: int) -> Exchange:
        """Return one exchange.

        Raises:
            UsageError: there is none of that number.
        """
        return sent_on(self.source.exchange(index))

    def exchanges(self) -> Iterator[Exchange]:
        """Yield all exchanges in order."""
        return map(sent_on, self.source.exchanges())


def sent_on(exchange: Exchange) -> Exchange:
    """Give an exchange with the request that reached the server; `outgoing` is kept."""
    if exchange.outgoing is None:
        return exchange
    return replace(exchange, info=_info(exchange.info), request=exchange.outgoing)


def _info(info: ExchangeInfo) -> ExchangeInfo:
    if info.outgoing_size is None:
        return info
    return replace(info, request_size=info.outgoing_size)
