"""vllm-mlx, release by release; see `cachediag.render.conversion.vllm_mlx` for what each does.

Rendering is held against the releases themselves by the live tests. It is for models without
vision, and for a server without `--default-chat-template-kwargs`.
Source: https://pypi.org/project/vllm-mlx/
"""

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

from cachediag.errors import UsageError
from cachediag.model import Prompt
from cachediag.protocol import jsontext
from cachediag.render.conversion.vllm_mlx import ANYWHERE, AT_LINE_START, VllmMlxConversion
from cachediag.render.profiles.moved import edited, system_first
from cachediag.render.rendered import Rendered
from cachediag.render.templates import Template, template

__all__ = ["VllmMlx"]

_NEWEST = "0.6.0"
_KNOWN = ("0.2.6", "0.2.8", "0.2.9", "0.3.0", "0.4.0", "0.4.1", "0.5.0", "0.6.0")
_FORMATS = ("json_object", "json_schema")

_UNKNOWN = "Not a release that was read; rendered as the releases around it would."
_RESPONSES = "The conversion of this endpoint was not held against the server."
_FORMATTED = "The instruction that the server adds for response_format is left out."


@dataclass(frozen=True)
class VllmMlx:
    """One release of vllm-mlx; the newest that is known where none is named."""

    version: str | None = None
    template: Template = field(default_factory=template)
    tools: str = "text"
    """`native` where the server runs with a tool parser that hands tool calls and results to the
    template as such (`--enable-auto-tool-choice --tool-call-parser hermes`, from 0.3.0 also
    `qwen`); `text`, as without one, where it writes them into the messages."""
    strip: str = "on"
    """`off` for a server whose own removal of the billing header was turned off."""

    def __post_init__(self) -> None:
        if self.version and not re.fullmatch(r"\d+\.\d+\.\d+", self.version):
            raise UsageError(
                f"{self.version!r} is no release of vllm-mlx",
                remedy=f"Write the version in full, such as vllm-mlx@{_NEWEST}.",
            )
        if self.strip not in ("on", "off"):
            raise UsageError(
                f"strip={self.strip} is not known",
                remedy="Write strip=off where the server keeps the billing header, else nothing.",
            )
        if self.tools not in ("text", "native"):
            raise UsageError(
                f"tools={self.tools} is not known",
                remedy="Write tools=native where the server runs with a tool parser, else nothing.",
            )

    @property
    def name(self) -> str:
        """The name with the release."""
        options = {"tools": (self.tools, "text"), "strip": (self.strip, "on")}
        named = [f"{name}={given}" for name, (given, usual) in options.items() if given != usual]
        suffix = f":{','.join(named)}" if named else ""
        return f"vllm-mlx@{self.version or _NEWEST}{suffix}"

    @cached_property
    def _release(self) -> tuple[int, ...]:
        return tuple(int(part) for part in (self.version or _NEWEST).split("."))

    def arrange(self, prompt: Prompt) -> Prompt:
        """The prompt without billing header; from 0.5.0 every system text before the talk."""
        if self._release >= (0, 5, 0) and prompt.endpoint != "chat":
            return system_first(prompt, _strip_lines if self.strip == "on" else _as_sent)
        if self._release < (0, 2, 8) or self.strip == "off":
            return prompt
        inline = _strip_lines if self._release >= (0, 4, 0) else None
        return edited(prompt, _strip_anywhere, inline)

    def render(self, prompt: Prompt) -> Rendered:
        """What the tokenizer is given.

        `prefix` is None without a system message at the head, and from 0.5.0 where another stands
        behind other messages: the engine looks for no prefix then, or for one that is none.
        """
        talk = self._conversion.talk(prompt, thinks="coder" not in self.template.name.lower())
        rendered = self.template.render(talk)
        notes = (*rendered.notes, *self._notes(prompt))
        leads = bool(talk.systems) and talk.systems[0] == 0
        if self._release >= (0, 5, 0):
            leads = leads and talk.systems[-1] == len(talk.systems) - 1
        return replace(
            rendered,
            prefix=rendered.prefix if leads else None,
            exact=rendered.exact and not notes,
            notes=notes,
        )

    def _notes(self, prompt: Prompt) -> tuple[str, ...]:
        format_ = jsontext.decode(prompt.params.get("response_format", b"null"))
        formatted = isinstance(format_, dict) and format_.get("type") in _FORMATS
        found = (
            (self.version is not None and self.version not in _KNOWN, _UNKNOWN),
            (prompt.endpoint == "responses", _RESPONSES),
            (formatted, _FORMATTED),
        )
        return tuple(note for applies, note in found if applies)

    @cached_property
    def _conversion(self) -> VllmMlxConversion:
        return VllmMlxConversion(
            self._release, native_tools=self.tools == "native", strips=self.strip == "on"
        )


def _strip_anywhere(text: str) -> str:
    return ANYWHERE.sub("", text)


def _as_sent(text: str) -> str:
    return text


def _strip_lines(text: str) -> str:
    return AT_LINE_START.sub("", text)
