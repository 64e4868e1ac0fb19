"""The demo's recording: client, proxy and server in this process, the session among the user's."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cachediag.capture.recording import plan_reverse, recording
from cachediag.demo.client import play
from cachediag.demo.script import script
from cachediag.demo.upstream import running_upstream
from cachediag.errors import SessionError
from cachediag.session import Session, library

__all__ = ["MADE_UP", "Recorded", "check_stored", "record"]

MADE_UP = "made up"
"""What a session says of its client where that is ours; its server is gone with it."""

_NAME = "demo"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was recorded, and the truth to hold it against."""

    path: Path
    """The session file."""
    received: tuple[bytes, ...]
    """The bodies that reached the server, in order."""


def record(tell: Callable[[str], None]) -> Recorded:
    """Play the script through the proxy, in place of the session of an earlier demo.

    Args:
        tell: told, a line each, of how it goes on; called from any thread.

    Raises:
        SessionError: the session cannot be written.
        UpstreamError: the loopback interface cannot be used.
        UsageError: the proxy cannot start.
    """
    words = script()
    with library.replacing(_NAME) as (path, place), running_upstream(*words.lanes) as upstream:
        plan = plan_reverse({}, upstream.url)
        meta = {"mode": "reverse", "upstream": upstream.url, "client": MADE_UP}
        with recording(path, plan, meta=meta, tell=tell) as going:
            tell(f"recording {words.requests} requests to {place.name}")
            play(words, going.proxy.base_url)
        check_stored(path, words.requests, place)
    return Recorded(place, tuple(upstream.received))


def check_stored(path: Path, expected: int, place: Path) -> None:
    """See that all requests of a demo are in its session.

    Raises:
        SessionError: some are not.
    """
    with Session.open(path) as session:
        stored = len(session)
    if stored < expected:
        raise SessionError(
            f"only {stored} of the demo's {expected} requests could be stored",
            where=str(place),
            remedy="See that the disk has room, or set CACHEDIAG_HOME to another one",
        )
