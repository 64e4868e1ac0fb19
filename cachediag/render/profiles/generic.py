"""A backend about which nothing is known: tools, system, messages, as sent."""

from dataclasses import dataclass

from cachediag.model import Prompt

__all__ = ["Generic"]


@dataclass(frozen=True, slots=True)
class Generic:
    """The order that the chat templates in use share; nothing is moved or removed."""

    version: str | None = None

    @property
    def name(self) -> str:
        """The name on the command line."""
        return "generic"

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt as the protocol orders it."""
        return prompt
