"""Whether the cache is in force in a server that runs, which only the server can tell."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Literal

from cachediag.errors import UpstreamError
from cachediag.model import Json

__all__ = ["Force", "in_force"]

_KEY = "cachediag_prefix_cache"
_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Force:
    """What a server says of the cache."""

    url: str
    """The server's base URL."""
    kind: Literal["on", "off", "absent"]
    """`on`: it serves from it. `off`: it has it and does not. `absent`: it has none."""
    reason: str | None
    """Why it is off."""
    stats: dict[str, Json]
    """What `/v1/cache/stats` tells; nothing where it is absent."""

    def counter(self, name: str) -> int:
        """What it has counted since it was started; 0 where it does not say."""
        counters = self.stats.get("counters")
        value = counters.get(name) if isinstance(counters, dict) else None
        return value if isinstance(value, int) else 0


def in_force(base_url: str, api_key: str | None = None) -> Force:
    """Ask a server.

    Args:
        base_url: such as `http://127.0.0.1:8000`.
        api_key: what it asks for, if anything.

    Raises:
        UpstreamError: it does not answer.
    """
    base = base_url.rstrip("/")
    url = f"{base}/v1/cache/stats"
    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the user's own server
        with direct.open(request, timeout=_TIMEOUT) as response:
            document = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return Force(base, "absent", None, {})
        raise _failed(url, f"HTTP {error.code}") from error
    except (OSError, ValueError) as error:
        raise _failed(url, str(getattr(error, "reason", error))) from error
    stats = document.get(_KEY) if isinstance(document, dict) else None
    if not isinstance(stats, dict):
        return Force(base, "absent", None, {})
    reason = stats.get("reason")
    is_on = stats.get("state") == "on"
    kind: Literal["on", "off"] = "on" if is_on else "off"
    return Force(base, kind, reason if isinstance(reason, str) else None, stats)


def _failed(url: str, said: str) -> UpstreamError:
    return UpstreamError(
        f"the server does not tell of its cache: {said}",
        where=url,
        remedy="Start the server, and give its base URL, such as http://127.0.0.1:8000.",
    )
