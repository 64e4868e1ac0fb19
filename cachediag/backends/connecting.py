"""A connection to a server that may say too little, too slowly, or without end."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

__all__ = ["connected"]


@contextmanager
def connected(
    base_url: str, *, timeout: float, within: float
) -> Iterator[http.client.HTTPConnection]:
    """Connect to a server, without a proxy, for as long as the block lasts.

    A time-out of the socket begins anew with every byte, so it bounds nothing by itself: a server
    that sends a byte a second, or interim responses without end, would never be given up.

    Args:
        base_url: the server's; only its scheme, host and port count.
        timeout: seconds without a byte.
        within: seconds for the whole block, after which the connection is cut.

    Raises:
        TimeoutError: the block did not end in time.
        OSError, http.client.HTTPException, ValueError: there is no such connection, or it broke.
    """
    parts = urlsplit(base_url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=min(timeout, within))
    expired = threading.Event()
    try:
        connection.connect()
        # The connection itself forgets the socket where the server closes after its answer.
        timer = threading.Timer(within, _cut, (connection.sock, expired))
        timer.daemon = True
        timer.start()
        try:
            yield connection
        except (OSError, http.client.HTTPException):
            if expired.is_set():
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()
    finally:
        connection.close()
    if expired.is_set():
        # What was read before the cut looks like a whole answer where no length was given.
        raise TimeoutError


def _cut(sock: socket.socket, expired: threading.Event) -> None:
    expired.set()
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
