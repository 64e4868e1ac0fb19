"""Emptying a server's caches between two runs."""

import http.client
import json
from collections.abc import Mapping
from urllib.parse import urlsplit

__all__ = ["cleared"]

_TIMEOUT = 60.0


def cleared(base_url: str, headers: Mapping[str, str] | None = None) -> bool:
    """Empty the caches of a vllm-mlx: `DELETE /v1/cache`.

    Args:
        base_url: the server's.
        headers: such as a credential.

    Returns:
        Whether the server said that it did; other servers know no such request.
    """
    parts = urlsplit(base_url)
    secure = parts.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
    try:
        connection.request(
            "DELETE", f"{parts.path.rstrip('/')}/v1/cache", headers=dict(headers or {})
        )
        response = connection.getresponse()
        told = json.loads(response.read()) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(told, dict) and told.get("status") == "cleared"
