"""The hosted Anthropic API: tools, system, messages, as sent.

Source: https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

from dataclasses import dataclass

from cachediag.model import Prompt

__all__ = ["Anthropic"]


@dataclass(frozen=True, slots=True)
class Anthropic:
    """Cache order tools, system, messages; an inline system message stays where it is."""

    version: str | None = None

    @property
    def name(self) -> str:
        """The name on the command line."""
        return "anthropic"

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt as the protocol orders it."""
        return prompt
