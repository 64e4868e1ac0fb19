"""A backend about which nothing is known: tools, system, messages, as sent."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from cachediag.model import Prompt
from cachediag.render.conversion.chat import ChatRules, chat_tool, chat_turns
from cachediag.render.conversion.messages import MessageRules, messages_tool, messages_turns
from cachediag.render.conversion.plain import PlainConversion
from cachediag.render.conversion.reading import Reader, system_turn
from cachediag.render.rendered import Rendered
from cachediag.render.templates import Template, template

__all__ = ["Generic"]

_NOTE = "The backend is not known; this is what most servers would make of the request."


@dataclass(frozen=True)
class Generic:
    """The order that the chat templates in use share; nothing is moved or removed."""

    version: str | None = None
    template: Template = field(default_factory=template)

    @property
    def name(self) -> str:
        """The name on the command line."""
        return "generic"

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt as the protocol orders it."""
        return prompt

    def render(self, prompt: Prompt) -> Rendered:
        """What the tokenizer would be given."""
        rendered = self.template.render(self._conversion.talk(prompt))
        return replace(rendered, exact=False, notes=(*rendered.notes, _NOTE))

    @cached_property
    def _conversion(self) -> PlainConversion:
        rules = MessageRules(results_first=True, keeps_thinking=True)
        return PlainConversion(
            Reader(
                system=partial(system_turn, joins="\n"),
                messages=partial(messages_turns, rules=rules),
                message_tool=messages_tool,
                chat=partial(chat_turns, rules=ChatRules(keeps_thinking=True)),
                chat_tool=partial(chat_tool, rewritten=False),
            )
        )
