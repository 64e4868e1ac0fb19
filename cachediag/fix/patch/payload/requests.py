"""What is known of the HTTP request at hand, and what its prompt cost."""

import contextvars
import logging
from typing import Any

__all__ = ["Request", "Use", "current"]

logger = logging.getLogger(__name__)


class Use:
    """How a prompt was served.

    Args:
        prompt_tokens: tokens of the prompt.
        reused_tokens: of these, those whose state was kept.
        system_tokens: of these, those of the system prefix; 0 where it cannot be told.
    """

    def __init__(self, prompt_tokens: int, reused_tokens: int, system_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.reused_tokens = reused_tokens
        self.system_tokens = system_tokens
        self.processed = 0
        """Tokens that the model's caches hold before generation begins."""
        self.seconds = 1e-9
        """Until the first token of the reply."""

    @property
    def prefilled_tokens(self) -> int:
        """Tokens that the model had to process."""
        return self.prompt_tokens - self.reused_tokens

    @property
    def kind(self) -> str:
        """`hit` where the whole system prefix was reused at least, `partial hit`, or `miss`."""
        if self.reused_tokens == 0:
            return "miss"
        return "hit" if self.reused_tokens >= self.system_tokens else "partial hit"

    def told(self) -> dict[str, int]:
        """For statistics."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "system_tokens": self.system_tokens,
            "reused_tokens": self.reused_tokens,
            "prefilled_tokens": self.prefilled_tokens,
        }


class Request:
    """An HTTP request, from its arrival to its end."""

    def __init__(self) -> None:
        self.use: Use | None = None
        self.is_left = False
        """Nobody waits for its answer: the client has gone away, or the server given it up."""
        self.streams: list[Any] = []
        """The engine's asynchronous generators, the outermost first."""

    async def close(self) -> None:
        """Close generators that were left where they stood: they may hold the engine's lock."""
        for stream in self.streams:
            try:
                await stream.aclose()
            except Exception:
                logger.debug("a generator of the engine could not be closed", exc_info=True)


current: contextvars.ContextVar[Request | None] = contextvars.ContextVar(
    "cachediag_request", default=None
)
