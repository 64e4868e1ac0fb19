"""A session as the server saw it: each request as it went on, not as the client sent it."""

from dataclasses import dataclass, replace

from cachediag.model import Exchange, ExchangeInfo
from cachediag.session.source import Wrapped

__all__ = ["Outgoing", "sent_on"]


@dataclass(frozen=True, slots=True)
class Outgoing(Wrapped):
    """A source whose requests are those that went on to the server.

    What a backend prefills is what reached it, so this is what is compared and analysed.
    """

    @property
    def changed(self) -> int:
        """How many requests went on other than they came."""
        return sum(info.outgoing_size is not None for info in self.source.infos())

    def read(self, exchange: Exchange) -> Exchange:
        """Give it with the request that reached the server."""
        return sent_on(exchange)

    def read_info(self, info: ExchangeInfo) -> ExchangeInfo:
        """Give it with the size of that request."""
        return _info(info)


def sent_on(exchange: Exchange) -> Exchange:
    """Give an exchange with the request that reached the server; `outgoing` is kept."""
    if exchange.outgoing is None:
        return exchange
    return replace(exchange, info=_info(exchange.info), request=exchange.outgoing)


def _info(info: ExchangeInfo) -> ExchangeInfo:
    if info.outgoing_size is None:
        return info
    return replace(info, request_size=info.outgoing_size)
