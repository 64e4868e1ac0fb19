"""How many tokens of a request a backend says it reused, and where it says so."""

from dataclasses import dataclass
from pathlib import Path

from cachediag.backends import Recognised, Watch, begin, readings
from cachediag.model import Endpoint
from cachediag.protocol.response import read_response
from cachediag.verify.send import Answer

__all__ = ["Reader", "Told"]


@dataclass(frozen=True, slots=True)
class Told:
    """What a backend says of one request. None is absent, which is not zero."""

    reused: int | None = None
    """Tokens taken from the cache."""
    prompt: int | None = None
    """Tokens of the whole prompt."""
    source: str | None = None
    """Where it says what was reused."""


class Reader:
    """Asked before and after each request.

    Args:
        base_url: the server's.
        recognised: what it is; None where that is not known: its answers alone can tell.
        log: its log, where it can be read.
    """

    def __init__(self, base_url: str, recognised: Recognised | None, log: Path | None) -> None:
        self._base_url = base_url
        self._recognised = recognised
        self._log = log
        self._watch: Watch | None = None

    def before(self) -> None:
        """Note where things stand; the request is sent next."""
        if self._recognised is not None:
            self._watch = begin(self._base_url, self._recognised, self._log)

    def told(self, endpoint: Endpoint, answer: Answer) -> Told:
        """What is said of the request that was just answered.

        Args:
            endpoint: what was called.
            answer: what came; `before` was called before the request was sent.
        """
        if self._watch is not None:
            found = readings(self._watch, endpoint, answer.content_type, answer.body)
            prompt = next((each.prompt for each in found if each.prompt is not None), None)
            for each in found:
                if each.cached is not None:
                    return Told(each.cached, prompt, each.source)
        usage = read_response(endpoint, answer.content_type, answer.body).usage
        if usage is None or usage.cache_read is None:
            return Told()
        return Told(usage.cache_read, None, "usage")
