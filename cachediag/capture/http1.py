"""What mitmproxy lacks of HTTP/1.1, up to 12.3 at least, so that a client gets its answer.

Without it an interim response (103, say) passes for the answer, which is then dropped; where a
chunked body has trailers, its end never comes; and an answer that ends with its connection is taken
for whole where that was reset.
"""

import asyncio
import re
from collections.abc import Iterator
from weakref import WeakSet

from h11 import Data, EndOfMessage, RemoteProtocolError
from h11._readers import ChunkedReader, Http10Reader
from h11._receivebuffer import ReceiveBuffer
from mitmproxy.connection import Connection
from mitmproxy.proxy import commands, events, server
from mitmproxy.proxy.layers.http import _http1

__all__ = ["complete"]

# 101 is no interim response: it is the last one of a connection that goes on in another protocol.
_INTERIM = re.compile(rb"HTTP/1\.1 1(?!01)\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n")

_read_headers = _http1.Http1Client.read_headers
_read_body = _http1.Http1Client.read_body
_server_event = server.ConnectionHandler.server_event

_reset: WeakSet[Connection] = WeakSet()


def complete() -> None:
    """Have all HTTP/1.1 connections of this process pass interim responses, and the rest."""
    setattr(_http1.Http1Client, "read_headers", _read_headers_after_interim)  # noqa: B010
    setattr(_http1, "ChunkedReader", _WithoutTrailers)  # noqa: B010
    setattr(_http1.Http1Client, "read_body", _read_body_to_its_end)  # noqa: B010
    setattr(server.ConnectionHandler, "server_event", _server_event_with_resets)  # noqa: B010


def _read_headers_after_interim(
    connection: _http1.Http1Client, event: events.ConnectionEvent
) -> Iterator[commands.Command]:
    if connection.request is not None:
        while interim := _INTERIM.match(bytes(connection.buf)):
            connection.buf.maybe_extract_at_most(interim.end())
            # Older clients do not know them, and those of HTTP/2 have another form for them.
            if connection.request.http_version == "HTTP/1.1":
                yield commands.SendData(connection.context.client, interim[0])
    yield from _read_headers(connection, event)


class _WithoutTrailers(ChunkedReader):
    """Reads a chunked body; a proxy may drop its trailers (RFC 9110, section 6.5.1)."""

    def __call__(self, buf: ReceiveBuffer) -> Data | EndOfMessage | None:
        read = super().__call__(buf)
        return EndOfMessage() if isinstance(read, EndOfMessage) else read


async def _server_event_with_resets(handler: server.ConnectionHandler, event: events.Event) -> None:
    # Of how a connection ended its layers are told nothing.
    if isinstance(event, events.ConnectionClosed):
        streams = handler.transports.get(event.connection)
        reader = None if streams is None else streams.reader
        if isinstance(reader, asyncio.StreamReader) and reader.exception() is not None:
            _reset.add(event.connection)
    await _server_event(handler, event)


def _read_body_to_its_end(
    connection: _http1.Http1Client, event: events.Event
) -> Iterator[commands.Command]:
    ended = isinstance(event, events.ConnectionClosed) and event.connection in _reset
    if ended and isinstance(connection.body_reader, Http10Reader):
        connection.body_reader = _BrokenOff()
    yield from _read_body(connection, event)


class _BrokenOff(Http10Reader):
    def read_eof(self) -> EndOfMessage:
        raise RemoteProtocolError("peer reset the connection")
