"""Emptying a server's caches between two runs."""

import http.client
from collections.abc import Mapping
from urllib.parse import urlsplit

from cachediag.backends.connecting import connected
from cachediag.protocol import bounded

__all__ = ["cleared"]

_TIMEOUT = 60.0
_MOST_BYTES = 1 << 16


def cleared(base_url: str, headers: Mapping[str, str] | None = None) -> bool:
    """Empty the caches of a vllm-mlx: `DELETE /v1/cache`.

    Args:
        base_url: the server's.
        headers: such as a credential.

    Returns:
        Whether the server said that it did; other servers know no such request.
    """
    path = urlsplit(base_url).path.rstrip("/")
    try:
        with connected(base_url, timeout=_TIMEOUT, within=_TIMEOUT) as connection:
            connection.request("DELETE", f"{path}/v1/cache", headers=dict(headers or {}))
            response = connection.getresponse()
            said = response.read(_MOST_BYTES) if response.status == 200 else b""
        told = bounded.loads(said.decode("utf-8", "replace"))
    except (OSError, http.client.HTTPException, ValueError):
        return False
    return isinstance(told, dict) and told.get("status") == "cleared"
