"""mlx-lm's server (`mlx_lm.server`): `/v1/chat/completions` goes to the template almost as sent.

Read in the packages of the releases 0.31.3 and 0.32.2, and held against them by the live tests:
`server.py` joins the texts of a content list without anything between them and decodes the
arguments of tool calls; tools are printed as they were sent. There is no `/v1/messages`: such a
request is rendered as a converting proxy before the server would send it.
Source: https://pypi.org/project/mlx-lm/
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from cachediag.model import Prompt
from cachediag.render.conversion.chat import ChatRules, chat_tool, chat_turns
from cachediag.render.conversion.messages import MessageRules, messages_tool, messages_turns
from cachediag.render.conversion.plain import PlainConversion
from cachediag.render.conversion.reading import Reader, system_turn
from cachediag.render.rendered import Rendered
from cachediag.render.templates import Template, template

__all__ = ["MlxLm"]

_NO_MESSAGES = "The server has no such endpoint; a proxy before it may convert otherwise."


@dataclass(frozen=True)
class MlxLm:
    """The server of mlx-lm; its releases do not differ in this."""

    version: str | None = None
    template: Template = field(default_factory=template)

    @property
    def name(self) -> str:
        """The name, with the release where one was named."""
        return f"mlx-lm@{self.version}" if self.version else "mlx-lm"

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt as the protocol orders it."""
        return prompt

    def render(self, prompt: Prompt) -> Rendered:
        """What the tokenizer is given.

        `prefix` is None without a system message at the head: the server keeps none then.
        """
        talk = self._conversion.talk(prompt)
        rendered = self.template.render(talk)
        if not talk.turns or talk.turns[0].role != "system":
            rendered = replace(rendered, prefix=None)
        if prompt.endpoint == "chat":
            return rendered
        return replace(rendered, exact=False, notes=(*rendered.notes, _NO_MESSAGES))

    @cached_property
    def _conversion(self) -> PlainConversion:
        return PlainConversion(
            Reader(
                system=partial(system_turn, joins="\n"),
                messages=partial(messages_turns, rules=MessageRules(results_first=True)),
                message_tool=messages_tool,
                chat=partial(chat_turns, rules=ChatRules(joins="", keeps_thinking=True)),
                chat_tool=partial(chat_tool, rewritten=False),
            )
        )
