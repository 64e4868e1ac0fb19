"""Asking a server harmlessly: GET, no credentials, no proxy, no redirect, and not for long."""

import ipaddress
import json
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from cachediag import __version__
from cachediag.model import Json

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

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
            return json.loads(self.body) if self.status == 200 else None
        except (ValueError, RecursionError):
            return None


@cache
def _opener() -> "OpenerDirector":
    from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
            return None

    return build_opener(ProxyHandler({}), NoRedirect)


def get(base_url: str, path: str, *, timeout: float = 2.0) -> Response | None:
    """Ask for one document.

    Args:
        base_url: the server's, without a path of the API.
        path: of the document, with its leading slash.
        timeout: seconds that the connection and each read may take.

    Returns:
        What it answered, whatever the status; None where nothing came.
    """
    # Commands that only read what a session says of its backend need no HTTP client.
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request

    url = base_url.rstrip("/") + path
    try:
        if urlsplit(url).scheme not in ("http", "https"):
            return None
        request = Request(url, headers=_HEADERS)  # noqa: S310 - checked
        with _opener().open(request, timeout=timeout) as answer:
            return _response(answer.status, answer.headers, answer.read(_MOST_BYTES))
    except HTTPError as error:
        with error:
            return _response(error.code, error.headers, b"")
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
