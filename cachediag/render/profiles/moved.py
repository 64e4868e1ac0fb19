"""Parts that a backend moves or edits before it renders them: what `arrange` is made of."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from cachediag.model import Block, Part, Prompt, Run
from cachediag.protocol import jsontext
from cachediag.protocol.parse import part as make_part

__all__ = ["edited", "system_first"]

Edit = Callable[[str], str]


def system_first(prompt: Prompt, edit: Edit) -> Prompt:
    """A prompt whose system texts all stand before the conversation.

    Args:
        prompt: the request.
        edit: what is done to each system text; one that it empties is left out.
    """
    tools = [run for run in prompt.runs if run.section == "tools"]
    rest = [run for run in prompt.runs if run.section != "tools"]
    system = [taken for run in rest if (taken := _system(run, edit)) is not None]
    talk = [taken for run in rest if (taken := _talk(run)) is not None]
    return replace(prompt, runs=(*tools, *system, *talk))


def edited(prompt: Prompt, top: Edit | None, inline: Edit | None = None) -> Prompt:
    """A prompt whose system texts are edited in their places.

    Args:
        prompt: the request.
        top: what is done to each text of the top-level system field.
        inline: what is done to each text of a system message.
    """
    runs = []
    for run in prompt.runs:
        edit = inline if run.is_messages else top
        kept = run if edit is None or run.section == "tools" else _edited(run, edit)
        if kept is not None:
            runs.append(kept)
    return replace(prompt, runs=tuple(runs))


def _edited(run: Run, edit: Edit) -> Run | None:
    parts = tuple(_with(part, edit) if part.role == "system" else part for part in run.parts)
    if parts == run.parts:
        return run
    return _only(replace(run, parts=parts), [n for n, part in enumerate(parts) if part.blocks])


def _system(run: Run, edit: Edit) -> Run | None:
    """The system texts of a run, as a part of the system prompt."""
    kept = _only(run, [n for n, part in enumerate(run.parts) if part.role == "system"])
    if kept is None:
        return None
    return _edited(replace(kept, section="system"), edit)


def _talk(run: Run) -> Run | None:
    return _only(run, [n for n, part in enumerate(run.parts) if part.role != "system"])


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
def _with(part: Part, edit: Edit) -> Part:
    """A part whose texts are edited; the same part where that changes nothing."""
    blocks = tuple(kept for block in part.blocks if (kept := _block(block, edit)) is not None)
    return part if blocks == part.blocks else make_part(part.raw, blocks)


def _block(block: Block, edit: Edit) -> Block | None:
    if block.kind != "text":
        return block
    value = jsontext.decode(block.canonical)
    before = value.get("text") if isinstance(value, dict) else None
    text = edit(before) if isinstance(before, str) else before
    if text == before:
        return block
    return replace(block, canonical=jsontext.encode(value | {"text": text})) if text else None
