"""One request to a live backend, and when its answer came."""

import http.client
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from cachediag.errors import UpstreamError
from cachediag.model import Endpoint
from cachediag.protocol.response import has_token

__all__ = ["Answer", "RefusedError", "UnfinishedError", "send"]

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


class RefusedError(UpstreamError):
    """The backend answered with an error.

    Args:
        status: of HTTP.
        said: the beginning of what it said.
        where: the address.
    """

    def __init__(self, status: int, said: str, where: str) -> None:
        super().__init__(
            f"HTTP {status}: {said}",
            where=where,
            remedy="Give the backend and the model that the session was recorded with.",
        )
        self.status = status
        self.said = said


class UnfinishedError(UpstreamError):
    """The answer was not complete in time.

    Args:
        seconds: that were waited.
        first_token: seconds until a token came; None where none came.
        where: the address.
    """

    def __init__(self, seconds: float, first_token: float | None, where: str) -> None:
        super().__init__(
            f"no answer: not complete after {seconds:.1f} s",
            where=where,
            remedy="See that the server runs, and give its address.",
        )
        self.first_token = first_token


def send(
    base_url: str,
    path: str,
    body: bytes,
    *,
    endpoint: Endpoint,
    headers: Mapping[str, str] | None = None,
    timeout: float = 900.0,
    deadline: float | None = None,
) -> Answer:
    """Send a request, and take its answer piece by piece.

    Args:
        base_url: where the backend is.
        path: with the query, from the recording.
        body: the raw body.
        endpoint: tells a token from other events.
        headers: further headers, such as a credential.
        timeout: seconds without a byte.
        deadline: seconds for the whole.

    Raises:
        RefusedError: the answer is no success.
        UnfinishedError: it is not complete in time.
        UpstreamError: there is no answer.
    """
    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    limit = timeout if deadline is None else min(timeout, deadline)
    connection = kind(parts.hostname or "", parts.port, timeout=limit)
    place = f"{parts.scheme}://{parts.netloc}{path.partition('?')[0]}"
    taking = _Taking(endpoint, time.perf_counter())
    try:
        connection.request(
            "POST", parts.path.rstrip("/") + path, body, {**_HEADERS, **(headers or {})}
        )
        # The connection gives it up where the server closes after the answer.
        sock = connection.sock
        response = connection.getresponse()
        if response.status >= 300:
            said = response.read(_SAID).decode("utf-8", "replace")
            raise RefusedError(response.status, said, place)
        return taking.all(response, sock, timeout, deadline)
    except TimeoutError:
        raise UnfinishedError(taking.passed(), taking.first_token, place) from None
    except (OSError, http.client.HTTPException) as error:
        raise UpstreamError(
            f"no answer: {error or type(error).__name__}",
            where=f"{parts.scheme}://{parts.netloc}",
            remedy="See that the server runs, and give its address.",
        ) from error
    finally:
        connection.close()


@dataclass(slots=True)
class _Taking:
    """An answer that is being read."""

    endpoint: Endpoint
    begun: float
    first_token: float | None = None

    def passed(self) -> float:
        return time.perf_counter() - self.begun

    def all(
        self,
        response: http.client.HTTPResponse,
        sock: socket.socket,
        timeout: float,
        deadline: float | None,
    ) -> Answer:
        """Read it to its end.

        Raises:
            TimeoutError: it is not complete in time.
        """
        content_type = response.getheader("content-type")
        streamed = (content_type or "").startswith("text/event-stream")
        pieces: list[bytes] = []
        first_byte = None
        waiting = b""
        while piece := response.read1(65536):
            first_byte = self.passed() if first_byte is None else first_byte
            pieces.append(piece)
            if streamed and self.first_token is None:
                waiting += piece
                # An event may come in pieces.
                whole, _, waiting = waiting.rpartition(b"\n\n")
                if has_token(self.endpoint, whole + b"\n\n"):
                    self.first_token = self.passed()
            if deadline is not None:
                left = deadline - self.passed()
                if left <= 0:
                    raise TimeoutError
                sock.settimeout(min(timeout, left))
        total = self.passed()
        return Answer(
            b"".join(pieces),
            content_type,
            total if first_byte is None else first_byte,
            self.first_token,
            total,
        )
