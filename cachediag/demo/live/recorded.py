"""The live demo's recording: a client talks through the proxy to a real engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cachediag.analysis.tokenview import Counter
from cachediag.backends.sandbox import Sandbox
from cachediag.capture.recording import plan_reverse, recording
from cachediag.demo.client import opening, play_alone
from cachediag.demo.live.claude import claude_code, relayed, take_turns
from cachediag.demo.live.sized import conversation
from cachediag.demo.recorded import MADE_UP, check_stored
from cachediag.demo.script import Lane
from cachediag.model import Exchange
from cachediag.session import library
from cachediag.verify.backends import Live

__all__ = ["REQUESTS", "Told", "made_up", "prefix_tokens", "record_claude", "record_made_up"]

REQUESTS = 4
"""How many requests the made-up client sends."""

_NAME = "demo-live"


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told of how it goes on; called from any thread."""

    tell: Callable[[str], None]
    """Given lines."""
    stored: Callable[[Exchange], None]
    """Given each exchange once it is stored."""


def made_up(tokens: int, model: str, counter: Counter) -> Lane:
    """The made-up conversation.

    Args:
        tokens: how long the prefix is to be at least.
        model: the model's name in the requests.
        counter: counts the prefix.

    Raises:
        UsageError: the prefix is to be longer than the engine has room for.
    """
    return conversation(tokens, model, lambda lane: prefix_tokens(opening(lane), counter))


def record_made_up(
    live: Live, tokens: int, counter: Counter, meta: Mapping[str, str], told: Told
) -> Path:
    """Have the made-up conversation, in place of the session of an earlier live demo.

    Args:
        live: the engine's server.
        tokens: how long the prefix is to be at least.
        counter: counts it.
        meta: what the session is to say of the engine.
        told: of how it goes on.

    Returns:
        The session file.

    Raises:
        SessionError: the session cannot be written.
        UpstreamError: the server does not answer as it should.
        UsageError: the prefix is to be longer than the engine has room for.
    """
    lane = made_up(tokens, live.model or "sandbox", counter)

    def play(base_url: str) -> None:
        play_alone(lane, base_url)

    client = {"client": MADE_UP}
    return _record(play, live.base_url, {**meta, **client}, told, expected=len(lane.steps))


def record_claude(live: Live, sandbox: Sandbox, meta: Mapping[str, str], told: Told) -> Path:
    """Let the real Claude Code take its turns, in place of the session of an earlier live demo.

    Args:
        live: the engine's server.
        sandbox: where the client is installed.
        meta: what the session is to say of the engine.
        told: of how it goes on.

    Returns:
        The session file.

    Raises:
        SessionError: the session cannot be written.
        UpstreamError: the client cannot be installed, or it or the server fails.
        UsageError: there is no npm.
    """
    command = claude_code(sandbox)
    with relayed(live.base_url, live.model or "sandbox") as (url, failed):

        def play(base_url: str) -> None:
            take_turns(command, base_url, told.tell, failed)

        return _record(play, url, {**meta, "client": command.name}, told, expected=1)


def _record(
    play: Callable[[str], None],
    upstream: str,
    meta: Mapping[str, str],
    told: Told,
    *,
    expected: int,
) -> Path:
    plan = plan_reverse({}, upstream)
    meta = {**meta, "mode": "reverse", "upstream": upstream}
    with library.replacing(_NAME) as (path, place):
        with recording(path, plan, meta=meta, tell=told.tell, stored=told.stored) as going:
            told.tell(f"recording to {place.name}")
            play(going.proxy.base_url)
        check_stored(path, expected, place)
    return place


def prefix_tokens(body: bytes, counter: Counter) -> int:
    """The tokens of a request that tools and leading system messages make up; 0 for none."""
    rendered = counter.rendered(counter.parser.parse(body, "messages"))
    return len(counter.encoder.sequence((rendered.text[: rendered.prefix or 0],)))
