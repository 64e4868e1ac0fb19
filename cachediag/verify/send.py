"""One request to a live backend, and when its answer came."""

import http.client
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from cachediag.backends.connecting import connected
from cachediag.errors import UpstreamError
from cachediag.model import Endpoint
from cachediag.protocol.response import has_token

__all__ = ["Answer", "RefusedError", "UnfinishedError", "send"]

_QUOTED_BYTES = 300
_MOST_BYTES = 64 << 20
_LONGEST_LINE = 1 << 20
"""Bytes of a stream without a line end, after which no token is looked for in them."""
_UNSENDABLE = re.compile(r"[^!-~]")
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
        deadline: seconds for the whole; by default four times `timeout`.

    Raises:
        RefusedError: the answer is no success.
        UnfinishedError: it is not complete in time.
        UpstreamError: there is no answer, or the path cannot be sent.
    """
    if _UNSENDABLE.search(path):
        raise UpstreamError(
            "the recorded path holds characters that no address may have",
            where=path,
            remedy="Leave the request out, with --lane or --max-requests.",
        )
    parts = urlsplit(base_url)
    place = f"{parts.scheme}://{parts.netloc}{path.partition('?')[0]}"
    within = 4 * timeout if deadline is None else deadline
    taking = _Taking(endpoint, time.perf_counter())
    try:
        with connected(base_url, timeout=timeout, within=within) as connection:
            target = parts.path.rstrip("/") + path
            connection.request("POST", target, body, {**_HEADERS, **(headers or {})})
            response = connection.getresponse()
            if response.status >= 300:
                said = response.read(_QUOTED_BYTES).decode("utf-8", "replace")
                raise RefusedError(response.status, said, place)
            return taking.all(response, place)
    except TimeoutError:
        raise UnfinishedError(taking.passed(), taking.first_token, place) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UpstreamError(
            f"no answer: {error or type(error).__name__}",
            where=f"{parts.scheme}://{parts.netloc}",
            remedy="See that the server runs, and give its address.",
        ) from error


@dataclass(slots=True)
class _Taking:
    """An answer that is being read."""

    endpoint: Endpoint
    begun: float
    first_token: float | None = None

    def passed(self) -> float:
        return time.perf_counter() - self.begun

    def all(self, response: http.client.HTTPResponse, place: str) -> Answer:
        """Read it to its end.

        Raises:
            UpstreamError: it goes on for too long.
        """
        content_type = response.getheader("content-type")
        streamed = (content_type or "").startswith("text/event-stream")
        pieces: list[bytes] = []
        first_byte = None
        waiting, size = b"", 0
        while piece := response.read1(65536):
            first_byte = self.passed() if first_byte is None else first_byte
            pieces.append(piece)
            size += len(piece)
            if size > _MOST_BYTES:
                raise UpstreamError(
                    f"the answer is longer than {_MOST_BYTES >> 20} MiB",
                    where=place,
                    remedy="Give the address of a server of models.",
                )
            if streamed and self.first_token is None and len(waiting) < _LONGEST_LINE:
                # A line may come in pieces.
                whole, end, waiting = (waiting + piece).rpartition(b"\n")
                if has_token(self.endpoint, whole + end):
                    self.first_token = self.passed()
        total = self.passed()
        return Answer(
            b"".join(pieces),
            content_type,
            total if first_byte is None else first_byte,
            self.first_token,
            total,
        )
