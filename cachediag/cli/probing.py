"""Recognising what a recording's proxy stands before, while the client goes about its work."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

from cachediag.errors import CachediagError

if TYPE_CHECKING:
    from cachediag.model import Endpoint

__all__ = ["probing"]

_PROTOCOLS: dict[str, tuple["Endpoint", ...]] = {
    "ANTHROPIC_BASE_URL": ("messages", "count_tokens"),
    "OPENAI_BASE_URL": ("chat", "responses"),
}


_HOSTED = ("anthropic", "openai")
"""What is told by its address alone; there is nothing to say of it."""


@contextmanager
def probing(path: Path, upstream: str | None, say: Callable[[str], None]) -> Iterator[None]:
    """Ask the upstream once what it is, and keep the answer in the session.

    It happens beside the recording and cannot hold it up or make it fail: what is not answered when
    the block ends is not waited for. Only a server on this machine or in a private network is
    asked.

    Args:
        path: the session file.
        upstream: `--upstream`.
        say: told in a line what the upstream is.
    """
    lock, going = Lock(), [True]

    def keep(found: str, meta: dict[str, str]) -> None:
        from cachediag.session import Session

        with lock:
            if going[0] and path.exists():
                say(found)
                with suppress(CachediagError):
                    Session.create(path, meta=meta).close()

    Thread(target=_ask, args=(upstream, keep), daemon=True).start()
    try:
        yield
    finally:
        with lock:
            going[0] = False


def _ask(upstream: str | None, keep: Callable[[str, dict[str, str]], None]) -> None:
    from cachediag.backends.recognise import recognise
    from cachediag.backends.recorded import to_meta
    from cachediag.capture.client import base_urls
    from cachediag.capture.redact import safe_url

    urls = base_urls(os.environ, upstream)
    served: dict[str, list[Endpoint]] = {}
    for variable, endpoints in _PROTOCOLS.items():
        served.setdefault(urls[variable].rstrip("/").removesuffix("/v1"), []).extend(endpoints)
    for url, led_to in served.items():
        found = recognise(url)
        if found is not None and found.kind not in _HOSTED:
            keep(f"{safe_url(url).rstrip('/')} is {found}", to_meta(found, led_to))
            return
