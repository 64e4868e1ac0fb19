"""Asking a server harmlessly: GET, no credentials, no proxy, no redirect, and not for long."""

import ipaddress
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from cachediag import __version__
from cachediag.model import Json
from cachediag.protocol import bounded

__all__ = ["Response", "get", "get_all", "is_near"]

_MOST_BYTES: Final = 4 << 20
_HEADERS: Final = {"accept": "*/*", "user-agent": f"cachediag/{__version__}"}


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    """By name in lower case."""
    body: bytes = b""

    @property
    def text(self) -> str:
        """The body as text; empty unless the status is 200."""
        return self.body.decode("utf-8", "replace") if self.status == 200 else ""

    @property
    def json(self) -> Json:
        """The body's JSON; None where it is none, or the status is not 200."""
        try:
            return bounded.loads(self.text)
        except ValueError:
            return None


def get(base_url: str, path: str, *, timeout: float = 2.0) -> Response | None:
    """Ask for one document.

    Args:
        base_url: the server's, without a path of the API.
        path: of the document, with its leading slash.
        timeout: seconds for all of it.

    Returns:
        What it answered, whatever the status; None where nothing came, or not all in time. No more
        than the first 4 MiB are read.
    """
    # Commands that only read what a session says of its backend need no HTTP client.
    from http.client import HTTPException

    from cachediag.backends.connecting import connected

    try:
        url = urlsplit(base_url.rstrip("/") + path)
        if url.scheme not in ("http", "https"):
            return None
        with connected(base_url, timeout=timeout, within=timeout) as connection:
            connection.request("GET", url._replace(scheme="", netloc="").geturl(), headers=_HEADERS)
            answer = connection.getresponse()
            is_success = 200 <= answer.status < 300
            body = answer.read(_MOST_BYTES) if is_success else b""
            return _response(answer.status, answer.headers, body)
    except (OSError, HTTPException, ValueError):
        return None


def get_all(
    base_url: str, paths: Iterable[str], *, timeout: float = 2.0, deadline: float | None = None
) -> dict[str, Response]:
    """Ask for documents one after another.

    Args:
        base_url: the server's.
        paths: of the documents.
        timeout: seconds for each.
        deadline: the monotonic time after which no more are asked for.

    Returns:
        What was answered, by path; those that nothing came of are left out.
    """
    answers = dict[str, Response]()
    for path in paths:
        left = timeout if deadline is None else min(timeout, deadline - time.monotonic())
        if left <= 0:
            break
        answer = get(base_url, path, timeout=left)
        if answer is not None:
            answers[path] = answer
    return answers


def is_near(url: str) -> bool:
    """Whether a server is on this machine or in a private network. Looks its name up."""
    try:
        host = urlsplit(url).hostname
        if not host:
            return False
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return False
    addresses = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]
    return bool(addresses) and not any(map(_is_global, addresses))


def _is_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_global


def _response(status: int, headers: Any, body: bytes) -> Response:
    return Response(status, {name.lower(): value for name, value in headers.items()}, body)
