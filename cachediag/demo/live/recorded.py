"""The live demo's recording: the made-up client talks through the proxy to a real engine."""

from collections.abc import Callable
from pathlib import Path

from cachediag.capture.recording import plan_reverse, recording
from cachediag.demo.client import play_alone
from cachediag.demo.recorded import check_stored
from cachediag.demo.script import Lane
from cachediag.model import Exchange
from cachediag.session import library

__all__ = ["record"]

_NAME = "demo-live"


def record(
    lane: Lane,
    base_url: str,
    *,
    tell: Callable[[str], None],
    stored: Callable[[Exchange], None],
) -> Path:
    """Have the conversation, in place of the session of an earlier live demo.

    Args:
        lane: the conversation.
        base_url: the engine's server.
        tell: told, a line each, of what goes wrong; called from any thread.
        stored: given each exchange once it is stored, on a thread of its own.

    Returns:
        The session file.

    Raises:
        SessionError: the session cannot be written.
        UpstreamError: the server does not answer as it should.
        UsageError: the proxy cannot start.
    """
    with library.replacing(_NAME) as (path, place):
        meta = {"mode": "reverse", "upstream": base_url, "client": "made up"}
        plan = plan_reverse({}, base_url)
        with recording(path, plan, meta=meta, tell=tell, stored=stored) as going:
            play_alone(lane, going.proxy.base_url)
        check_stored(path, len(lane.steps), place)
    return place
