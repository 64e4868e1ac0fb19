"""A model's own chat template, rendered as Transformers renders it.

The environment is that of `transformers.utils.chat_template_utils` (5.24, November 2026): a
sandbox in which templates cannot change what they are given, blocks trimmed, `tojson` without
escapes, `raise_exception`, `strftime_now`, the `generation` tag, `break` and `continue`. Beside
that `limits` sees to it that a template ends.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from cachediag.errors import InputError
from cachediag.heads import common_head
from cachediag.model import Json
from cachediag.render.memo import Memo
from cachediag.render.rendered import Rendered, Segment
from cachediag.render.templates.attribution import Told, attributed
from cachediag.render.turns import Talk, Tool, Turn

if TYPE_CHECKING:
    from jinja2 import Template

    from cachediag.render.templates.limits import LimitedEnvironment

__all__ = ["Jinja"]

_PROBES = ("Alpha", "Bravo")
_MARK = "\ue000"
_DATED = "The template prints the day on which the prompt is built; here it is today."


_QUOTED_CHARACTERS = 200
"""Characters of what a template says when it refuses a request."""

_FEW = 16
"""Heads that are remembered: they are long, and some clients write a new line into each."""

_System = tuple[tuple[Tool, ...], tuple[Turn, ...], str]
"""Tools, leading system messages, and the options as JSON."""


class Jinja:
    """A chat template in Jinja.

    A prompt costs a whole rendering, so this is for models whose template has no renderer here.

    Args:
        name: the model's name.
        sources: the template's text by its name: `default`, and `tool_use` where the model has
            another one for requests with tools.
        special_tokens: what templates are given by name, such as `bos_token`.
    """

    exact = True

    def __init__(
        self, name: str, sources: Mapping[str, str], special_tokens: Mapping[str, Json]
    ) -> None:
        self.name = name
        self._sources = sources
        self._special_tokens = special_tokens
        self._compiled: dict[str, Template] = {}
        self._refused: dict[str, InputError] = {}
        """Templates that took too long, or too much."""
        self._messages: dict[Turn, dict[str, Json]] = {}
        self._prefixes: Memo[_System, str] = Memo(_FEW)

    def render(self, talk: Talk) -> Rendered:
        """The whole prompt, with the generation prompt.

        Raises:
            InputError: the template refuses the request, or is no valid template.
        """
        messages = [self._message(turn) for turn in talk.turns]
        text = self._text(talk, messages)
        dated = "strftime_now" in self._source(talk)
        return Rendered(
            (Segment.found(text, lambda: self._pieces(talk, text)),),
            (0,),
            prefix=self._prefix(talk, text),
            find_last_user=lambda _: self._last_user(talk, messages, text),
            exact=not dated,
            notes=(_DATED,) if dated else (),
        )

    def _source(self, talk: Talk) -> str:
        name = "tool_use" if talk.tools and "tool_use" in self._sources else "default"
        return self._sources[name]

    def _text(
        self, talk: Talk, messages: Sequence[Json], tools: Sequence[Json] | None = None
    ) -> str:
        from cachediag.render.templates.limits import LimitError

        source = self._source(talk)
        if source in self._refused:
            raise self._refused[source]
        given = tools if tools is not None else [tool.value for tool in talk.tools]
        try:
            with self._environment.limited():
                if source not in self._compiled:
                    self._compiled[source] = self._environment.from_string(source)
                return self._compiled[source].render(
                    messages=messages,
                    tools=given or None,
                    documents=None,
                    add_generation_prompt=True,
                    **{**self._special_tokens, **talk.options},
                )
        except Exception as error:
            said = f"{error or type(error).__name__}".partition("\n")[0][:_QUOTED_CHARACTERS]
            refused = InputError(
                f"the chat template refuses the request: {said}",
                where=self.name,
                remedy="Choose another model with --model, or another profile.",
            )
            if isinstance(error, LimitError):
                # The next request would take as long.
                self._refused[source] = refused
            raise refused from error

    @cached_property
    def _environment(self) -> "LimitedEnvironment":
        from jinja2.ext import loopcontrols

        from cachediag.render.templates.limits import LimitedEnvironment

        environment = LimitedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_generation_tag(), loopcontrols]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = _strftime_now
        return environment

    def _message(self, turn: Turn) -> dict[str, Json]:
        if turn not in self._messages:
            self._messages[turn] = _message(turn)
        return self._messages[turn]

    def _prefix(self, talk: Talk, text: str) -> int | None:
        """The length of what two prompts share that differ in the first user text alone."""
        system = tuple(takewhile(lambda turn: turn.role == "system", talk.turns))
        key = (talk.tools, system, json.dumps(talk.options, sort_keys=True, default=str))
        prefix = self._prefixes.get(key, lambda _: self._shared(talk, system))
        return len(prefix) if prefix and text.startswith(prefix) else None

    def _shared(self, talk: Talk, system: tuple[Turn, ...]) -> str:
        head = [self._message(turn) for turn in system]
        try:
            a, b = (self._text(talk, [*head, {"role": "user", "content": x}]) for x in _PROBES)
        except InputError:
            return ""
        return a[: common_head(a, b)]

    def _last_user(self, talk: Talk, messages: Sequence[dict[str, Json]], text: str) -> int | None:
        if not messages or messages[-1]["role"] != "user":
            return None
        content = f"{_MARK}{talk.turns[-1].text}"
        marked = self._text(talk, [*messages[:-1], {**messages[-1], "content": content}])
        # From the mark on the two are the same; before it, a template may have looked at the text.
        return len(text) - common_head(text[::-1], marked[::-1])

    def _pieces(self, talk: Talk, text: str) -> Any:
        def again(told: Told) -> str:
            turns = [_message(turn) for turn in told.turns]
            return self._text(talk, turns, [tool.value for tool in told.tools])

        return attributed(talk, text, again)


def _message(turn: Turn) -> dict[str, Json]:
    content = turn.text if turn.items is None else list(turn.items)
    message: dict[str, Json] = {"role": turn.role, "content": content, **turn.extra}
    if turn.thinking is not None:
        message["reasoning_content"] = turn.thinking
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in turn.calls
        ]
    return message


def _tojson(
    value: Json,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise(message: str) -> None:
    from jinja2 import TemplateError

    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)  # noqa: DTZ005 - as the servers do, in local time


def _generation_tag() -> type[Any]:
    """The `generation` tag, which marks the assistant's text for training and prints it."""
    from jinja2 import nodes
    from jinja2.ext import Extension
    from jinja2.parser import Parser

    class Generation(Extension):
        tags = {"generation"}  # noqa: RUF012 - jinja's own way

        def parse(self, parser: Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.CallBlock(self.call_method("_print"), [], [], body).set_lineno(line)

        def _print(self, caller: Callable[[], str]) -> str:
            return caller()

    return Generation
