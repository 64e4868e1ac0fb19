"""The hosted Anthropic API: tools, system, messages, as sent.

What the model is really given is not public; `render` writes a text form that stands for it.
Source: https://docs.claude.com/en/docs/build-with-claude/prompt-caching
"""

from dataclasses import dataclass, field
from functools import cached_property

from cachediag.model import Prompt
from cachediag.render.rendered import Rendered
from cachediag.render.templates import Template, template
from cachediag.render.templates.canonical import Canonical

__all__ = ["Anthropic"]


@dataclass(frozen=True)
class Anthropic:
    """Cache order tools, system, messages; an inline system message stays where it is."""

    version: str | None = None
    template: Template = field(default_factory=template)
    """Not used: the hosted models have no template that is known."""

    @property
    def name(self) -> str:
        """The name on the command line."""
        return "anthropic"

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt as the protocol orders it."""
        return prompt

    def render(self, prompt: Prompt) -> Rendered:
        """A text that stands for the prompt; see `cachediag.render.templates.canonical`."""
        return self._canonical.render(prompt)

    @cached_property
    def _canonical(self) -> Canonical:
        return Canonical()
