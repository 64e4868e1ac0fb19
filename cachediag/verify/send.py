"""One request to a live backend, and when its answer came."""

import http.client
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from cachediag.errors import UpstreamError
from cachediag.model import Endpoint
from cachediag.protocol.response import has_token

__all__ = ["Answer", "send"]

_SAID = 300
# What a client would send with it; credentials are the user's to give.
_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. Times are in seconds from the sending of the request."""

    body: bytes
    content_type: str | None
    first_byte: float
    first_token: float | None
    """None where the response was not streamed, or held no token."""
    total: float


def send(
    base_url: str,
    path: str,
    body: bytes,
    *,
    endpoint: Endpoint,
    headers: Mapping[str, str] | None = None,
    timeout: float = 900.0,
) -> Answer:
    """Send a request, and take its answer piece by piece.

    Args:
        base_url: where the backend is.
        path: with the query, from the recording.
        body: the raw body.
        endpoint: tells a token from other events.
        headers: further headers, such as a credential.
        timeout: seconds without a byte.

    Raises:
        UpstreamError: there is no answer, or it is no success.
    """
    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    try:
        begun = time.perf_counter()
        connection.request(
            "POST", parts.path.rstrip("/") + path, body, {**_HEADERS, **(headers or {})}
        )
        response = connection.getresponse()
        if response.status >= 300:
            said = response.read(_SAID).decode("utf-8", "replace")
            raise UpstreamError(
                f"HTTP {response.status}: {said}",
                where=f"{parts.scheme}://{parts.netloc}{path.partition('?')[0]}",
                remedy="Give the backend and the model that the session was recorded with.",
            )
        return _taken(response, endpoint, begun)
    except (OSError, http.client.HTTPException) as error:
        raise UpstreamError(
            f"no answer: {error or type(error).__name__}",
            where=f"{parts.scheme}://{parts.netloc}",
            remedy="See that the server runs, and give its address.",
        ) from error
    finally:
        connection.close()


def _taken(response: http.client.HTTPResponse, endpoint: Endpoint, begun: float) -> Answer:
    content_type = response.getheader("content-type")
    streamed = (content_type or "").startswith("text/event-stream")
    pieces: list[bytes] = []
    first_byte = first_token = None
    waiting = b""
    while piece := response.read1(65536):
        now = time.perf_counter() - begun
        first_byte = now if first_byte is None else first_byte
        pieces.append(piece)
        if streamed and first_token is None:
            waiting += piece
            # An event may come in pieces.
            whole, _, waiting = waiting.rpartition(b"\n\n")
            first_token = now if has_token(endpoint, whole + b"\n\n") else None
    total = time.perf_counter() - begun
    return Answer(
        b"".join(pieces),
        content_type,
        total if first_byte is None else first_byte,
        first_token,
        total,
    )
