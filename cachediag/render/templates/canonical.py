"""A text form of requests to hosted models, whose real prompt nobody outside has seen.

It serves to estimate: each tool as compact JSON on a line of its own, the system texts, then each
message under its role; blocks in the order of the cache, as sent. A tool call is its name and its
arguments as JSON, a tool result its text, an image or document the word for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cachediag.heads import common_head
from cachediag.model import Block, Json, Part, Prompt, Run
from cachediag.protocol import jsontext
from cachediag.render.memo import Latest
from cachediag.render.rendered import Piece, Rendered, Segment

__all__ = ["Canonical"]

_NOTE = "The hosted model's own prompt is not known; the text stands for it in estimates."


@dataclass(frozen=True, slots=True)
class _Written:
    """Parts in a row as they were written last."""

    parts: tuple[Part, ...]
    segments: tuple[Segment, ...]
    firsts: tuple[int, ...]


_NOTHING = _Written((), (), ())


class Canonical:
    """Writes prompts in the text form. Remembers each part that it has written."""

    def __init__(self) -> None:
        self._segments: dict[tuple[Part, bool], Segment] = {}
        self._talks: Latest[tuple[Part, int], _Written] = Latest()

    def render(self, prompt: Prompt) -> Rendered:
        """The text form of a request."""
        segments, firsts = tuple[Segment, ...](), tuple[int, ...]()
        number, prefix, talk, last = 0, 0, 0, None
        for run in prompt.runs:
            if not run.parts:
                continue
            written = self._written(run, number)
            segments, firsts = segments + written.segments, firsts + written.firsts
            number = written.firsts[-1] + len(run.parts[-1].blocks)
            if run.section != "messages":
                prefix += sum([len(segment.text) for segment in written.segments])
                talk = len(segments)
            last = run.parts[-1] if run.is_messages else None
        ends_with_user = last is not None and last.role == "user"
        return Rendered(
            segments,
            firsts,
            prefix=prefix,
            talk=talk,
            find_last_user=lambda whole: whole.starts[-2] if ends_with_user else None,
            notes=(_NOTE,),
        )

    def _written(self, run: Run, number: int) -> _Written:
        """The segments of a run whose first block has a number.

        A conversation that goes on from an earlier one is written from where it differs.
        """
        key, parts = (run.parts[0], number), run.parts
        old = (self._talks.get(key) if run.section == "messages" else None) or _NOTHING
        shared = common_head(old.parts, parts)
        segments = [self._segment(part, run) for part in parts[shared:]]
        firsts = list[int]()
        if shared:
            number = old.firsts[shared - 1] + len(parts[shared - 1].blocks)
        for part in parts[shared:]:
            firsts.append(number)
            number += len(part.blocks)
        made = _Written(
            parts, old.segments[:shared] + tuple(segments), old.firsts[:shared] + tuple(firsts)
        )
        if run.section == "messages":
            self._talks.keep(key, made)
        return made

    def _segment(self, part: Part, run: Run) -> Segment:
        key = (part, run.is_messages)
        if key not in self._segments:
            self._segments[key] = Segment(tuple(_written(part, is_message=run.is_messages)))
        return self._segments[key]


def _written(part: Part, *, is_message: bool) -> Iterator[Piece]:
    if is_message and part.blocks:
        yield Piece(f"\n{part.blocks[0].role}:\n", 0)
    for number, block in enumerate(part.blocks):
        yield Piece(f"{_text(block)}\n", number)


def _text(block: Block) -> str:
    value = jsontext.decode(block.canonical)
    if block.kind == "tool" or not isinstance(value, dict):
        return _json(value)
    if block.kind == "tool_use":
        return f"{value.get('name', '')} {_json(value.get('input', value))}"
    if block.kind in ("image", "document"):
        return f"[{block.kind}]"
    if block.kind == "tool_result" and "content" in value:
        return _content(value["content"])
    text = value.get(block.kind, value.get("text"))
    return text if isinstance(text, str) else _json(value)


def _content(content: Json) -> str:
    if isinstance(content, list):
        return "\n".join(_content(item) for item in content)
    if isinstance(content, dict):
        kind, text = content.get("type"), content.get("text")
        if kind in ("image", "document"):
            return f"[{kind}]"
        return text if isinstance(text, str) else _json(content)
    return content if isinstance(content, str) else _json(content)


def _json(value: Json) -> str:
    return jsontext.encode(value).decode("utf-8", "surrogatepass")
