r"""vLLM: `/v1/messages` is converted, then rendered by the model's template.

Read in the source (`vllm/entrypoints/anthropic/serving.py`, `vllm/entrypoints/chat_utils.py`,
November 2026), not run: system blocks that begin with the billing header are left out; the others,
and the texts of system messages among the messages, are joined at the front without anything
between them; tool results stand before the text of their message; thinking goes to the template.
Source: https://github.com/vllm-project/vllm
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from cachediag.model import Prompt
from cachediag.render.conversion.chat import ChatRules, chat_tool, chat_turns
from cachediag.render.conversion.messages import MessageRules, messages_tool, messages_turns
from cachediag.render.conversion.plain import PlainConversion
from cachediag.render.conversion.reading import Reader, system_turn
from cachediag.render.profiles.moved import system_first
from cachediag.render.rendered import Rendered
from cachediag.render.templates import Template, template

__all__ = ["Vllm"]

_NOTE = "Read in vLLM's source, not held against a running server."
_HEADER = "x-anthropic-billing-header"


@dataclass(frozen=True)
class Vllm:
    """A recent vLLM."""

    version: str | None = None
    template: Template = field(default_factory=template)

    @property
    def name(self) -> str:
        """The name on the command line."""
        return "vllm"

    def arrange(self, prompt: Prompt) -> Prompt:
        """Tools, then every system text of `/v1/messages` without header, then the conversation."""
        if prompt.endpoint == "chat":
            return prompt
        return system_first(prompt, _strip)

    def render(self, prompt: Prompt) -> Rendered:
        """What the tokenizer is given."""
        rendered = self.template.render(self._conversion.talk(prompt))
        return replace(rendered, exact=False, notes=(*rendered.notes, _NOTE))

    @cached_property
    def _conversion(self) -> PlainConversion:
        rules = MessageRules(results_first=True, keeps_thinking=True, says_nothing=False)
        return PlainConversion(
            Reader(
                system=partial(system_turn, joins="", edit=_strip),
                messages=partial(messages_turns, rules=rules),
                message_tool=messages_tool,
                chat=partial(chat_turns, rules=ChatRules(keeps_thinking=True)),
                chat_tool=partial(chat_tool, rewritten=True),
            ),
            fronts="",
        )


def _strip(text: str) -> str:
    return "" if text.startswith(_HEADER) else text
