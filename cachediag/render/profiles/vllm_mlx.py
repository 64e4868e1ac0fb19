"""vllm-mlx: inline system messages go to the front, the billing header goes.

Read in the released packages: `api/anthropic_adapter.py` joins every system message into the
system prompt; from 0.2.8 it deletes the billing-header line wherever it stands in that text, from
0.5.0 only at the start of a text.
Source: https://pypi.org/project/vllm-mlx/
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from cachediag.errors import UsageError
from cachediag.model import Block, Part, Prompt, Run
from cachediag.protocol import jsontext
from cachediag.protocol.parse import part as make_part

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

    def arrange(self, prompt: Prompt) -> Prompt:
        """Tools, then every system text without billing header, then the conversation."""
        tools = [run for run in prompt.runs if run.section == "tools"]
        rest = [run for run in prompt.runs if run.section != "tools"]
        system = [taken for run in rest if (taken := self._system(run)) is not None]
        talk = [taken for run in rest if (taken := _talk(run)) is not None]
        return replace(prompt, runs=(*tools, *system, *talk))

    def _system(self, run: Run) -> Run | None:
        """The system texts of a run, as a part of the system prompt."""
        wanted = [n for n, part in enumerate(run.parts) if _is_system(part)]
        kept = _only(run, wanted)
        if kept is None or self._release < (0, 2, 8):
            return kept and replace(kept, section="system")
        anchored = self._release >= (0, 5, 0)
        parts = tuple(_stripped(part, anchored=anchored) for part in kept.parts)
        kept = replace(kept, section="system", parts=parts)
        return _only(kept, [n for n, part in enumerate(parts) if part.blocks])


def _talk(run: Run) -> Run | None:
    return _only(run, [n for n, part in enumerate(run.parts) if not _is_system(part)])


def _is_system(part: Part) -> bool:
    return part.role == "system"


def _only(run: Run, numbers: list[int]) -> Run | None:
    """A run with some of its parts; None where there is none."""
    if len(numbers) == len(run.parts):
        return run
    if not numbers:
        return None
    return replace(
        run,
        parts=tuple(run.parts[n] for n in numbers),
        starts=tuple(run.starts[n] for n in numbers),
        indexes=None if run.indexes is None else tuple(run.indexes[n] for n in numbers),
    )


@lru_cache(maxsize=4096)
def _stripped(part: Part, *, anchored: bool) -> Part:
    """A part without billing header; the same part where it has none."""
    pattern = _AT_START if anchored else _ANYWHERE
    blocks = tuple(kept for block in part.blocks if (kept := _without(block, pattern)) is not None)
    if blocks == part.blocks:
        return part
    return make_part(part.raw, blocks)


def _without(block: Block, pattern: re.Pattern[str]) -> Block | None:
    if block.kind != "text":
        return block
    value = jsontext.decode(block.canonical)
    text = pattern.sub("", value["text"])
    if text == value["text"]:
        return block
    return replace(block, canonical=jsontext.encode(value | {"text": text})) if text else None
