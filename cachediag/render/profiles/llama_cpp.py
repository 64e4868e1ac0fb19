r"""llama.cpp's server: `/v1/messages` is converted, then rendered by the model's template.

Read in the source (`tools/server/server-chat.cpp`, `common/chat.cpp`, November 2026), not run:
system texts are joined without anything between them, in one that begins with the billing header
the five characters of `cch=` become `fffff`; texts of a message are joined by a line end and stand
before its tool results, whose own texts are joined without anything between them; thinking goes to
the template as `reasoning_content`; system messages among the messages stay where they are.
Source: https://github.com/ggml-org/llama.cpp
"""

import re
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from cachediag.model import Prompt
from cachediag.render.conversion.chat import ChatRules, chat_tool, chat_turns
from cachediag.render.conversion.messages import MessageRules, messages_tool, messages_turns
from cachediag.render.conversion.plain import PlainConversion
from cachediag.render.conversion.reading import Reader, system_turn
from cachediag.render.profiles.moved import edited
from cachediag.render.rendered import Rendered
from cachediag.render.templates import Template, template

__all__ = ["LlamaCpp"]

_NOTE = "Read in llama.cpp's source, not held against a running server."
_CCH = re.compile(r"(?s)\A(x-anthropic-billing-header:.*?cch=).{5}(?=;)")


@dataclass(frozen=True)
class LlamaCpp:
    """A recent llama-server."""

    version: str | None = None
    template: Template = field(default_factory=template)

    @property
    def name(self) -> str:
        """The name on the command line."""
        return "llama.cpp"

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt as the protocol orders it, the header's nonce blotted out."""
        return edited(prompt, _without_nonce)

    def render(self, prompt: Prompt) -> Rendered:
        """What the tokenizer is given."""
        rendered = self.template.render(self._conversion.talk(prompt))
        return replace(rendered, exact=False, notes=(*rendered.notes, _NOTE))

    @cached_property
    def _conversion(self) -> PlainConversion:
        rules = MessageRules(
            joins_results="", keeps_empty=True, keeps_thinking=True, says_nothing=False
        )
        return PlainConversion(
            Reader(
                system=partial(system_turn, joins="", edit=_without_nonce),
                messages=partial(messages_turns, rules=rules),
                message_tool=messages_tool,
                chat=partial(chat_turns, rules=ChatRules(keeps_thinking=True)),
                chat_tool=partial(chat_tool, rewritten=True),
            )
        )


def _without_nonce(text: str) -> str:
    return _CCH.sub(r"\g<1>fffff", text)
