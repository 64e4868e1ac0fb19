"""Reading, around one request, all that a backend tells of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cachediag.backends.asking import Response, get
from cachediag.backends.kinds import PROBES, Reading, Recognised
from cachediag.model import Endpoint

__all__ = ["Watch", "begin", "readings"]

_MOST_LOGGED: Final = 16 << 20
"""Bytes of a log that are looked at for one request."""


@dataclass(frozen=True, slots=True)
class Watch:
    """What was there before a request."""

    base_url: str
    recognised: Recognised
    counters: Response | None = None
    """None where the backend has none."""
    log: Path | None = None
    """The server's log, where it can be read."""
    logged: int = 0
    """How many bytes it had."""


def begin(base_url: str, recognised: Recognised, log: Path | None = None) -> Watch:
    """Look at a backend before a request.

    Args:
        base_url: the server's.
        recognised: what it is.
        log: its log, where it can be read.
    """
    path = PROBES[recognised.kind].counters if recognised.kind in PROBES else None
    counters = None if path is None else get(base_url, path)
    logged = log.stat().st_size if log is not None and log.exists() else 0
    return Watch(base_url, recognised, counters, log, logged)


def readings(
    watch: Watch, endpoint: Endpoint, content_type: str | None, body: bytes
) -> list[Reading]:
    """All that the backend tells of the request that was answered since.

    Args:
        watch: from before the request.
        endpoint: what was called.
        content_type: the response's.
        body: the whole response.

    Returns:
        The most telling first: those with a count of cached tokens before those without, those that
        are exact before estimates, and otherwise the response before the log before the counters.
        None of them where the backend tells nothing: then only time can tell.
    """
    probe = PROBES.get(watch.recognised.kind)
    if probe is None:
        return []
    found = [probe.read_usage(watch.recognised, endpoint, content_type, body)]
    if watch.log is not None and watch.log.exists():
        with watch.log.open("rb") as log:
            log.seek(watch.logged)
            found.append(probe.read_log(log.read(_MOST_LOGGED).decode("utf-8", "replace")))
    if probe.counters is not None and watch.counters is not None:
        after = get(watch.base_url, probe.counters)
        found.append(None if after is None else probe.read_counters(watch.counters, after))
    told = [each for each in found if each is not None]
    return sorted(told, key=lambda each: (each.cached is None, each.sure != "exact"))
