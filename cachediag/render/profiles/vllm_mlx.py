"""vllm-mlx: inline system messages go to the front, the billing header goes.

Read in the released packages: `api/anthropic_adapter.py` joins every system message into the
system prompt; from 0.2.8 it deletes the billing-header line wherever it stands in that text, from
0.5.0 only at the start of a text.
Source: https://pypi.org/project/vllm-mlx/
"""

import re
from dataclasses import dataclass, replace

from cachediag.errors import UsageError
from cachediag.model import Block, Prompt
from cachediag.protocol import jsontext

__all__ = ["VllmMlx"]

_NEWEST = "0.6.0"
_ANYWHERE = re.compile(r"x-anthropic-billing-header:[^\n]*\n?")
_AT_START = re.compile(r"\A\s*x-anthropic-billing-header:[^\n]*\n?")


@dataclass(frozen=True, slots=True)
class VllmMlx:
    """One release of vllm-mlx; the newest that is known where none is named."""

    version: str | None = None

    def __post_init__(self) -> None:
        if self.version and not re.fullmatch(r"\d+\.\d+\.\d+", self.version):
            raise UsageError(
                f"{self.version!r} is no release of vllm-mlx",
                remedy=f"Write the version in full, such as vllm-mlx@{_NEWEST}.",
            )

    @property
    def name(self) -> str:
        """The name with the release."""
        return f"vllm-mlx@{self.version or _NEWEST}"

    @property
    def _release(self) -> tuple[int, ...]:
        return tuple(int(part) for part in (self.version or _NEWEST).split("."))

    def arrange(self, prompt: Prompt) -> tuple[Block, ...]:
        """Tools, then every system text without billing header, then the conversation."""
        tools = [block for block in prompt.blocks if block.section == "tools"]
        system = [
            replace(block, section="system") for block in prompt.blocks if block.role == "system"
        ]
        talk = [b for b in prompt.blocks if b.section != "tools" and b.role != "system"]
        stripped = [kept for block in system if (kept := self._strip(block)) is not None]
        return (*tools, *stripped, *talk)

    def _strip(self, block: Block) -> Block | None:
        if self._release < (0, 2, 8) or block.kind != "text":
            return block
        value = jsontext.decode(block.canonical)
        pattern = _AT_START if self._release >= (0, 5, 0) else _ANYWHERE
        text = pattern.sub("", value["text"])
        if text == value["text"]:
            return block
        return replace(block, canonical=jsontext.encode(value | {"text": text})) if text else None
