"""What a syntax of tool calls must say: the role that each file of this package fills."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cachediag.model import Json

__all__ = ["Syntax", "Tool", "arguments", "tag", "triggered"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call. Captured, so untrusted."""

    name: str
    schema: Json = field(default_factory=lambda: {"type": "object"})
    """Of its arguments; by default any object."""


class Syntax(Protocol):
    """How a family of models writes its tool calls."""

    @property
    def name(self) -> str:
        """As engines name its parser."""
        ...

    @property
    def is_json(self) -> bool:
        """The arguments are written as JSON."""
        ...

    def calls(self, tools: Sequence[Tool]) -> Json:
        """The format of an answer: free text, and among it calls of these tools.

        Args:
            tools: one or more.
        """
        ...


def tag(begin: str, content: Json, end: str) -> Json:
    """A tag: what it begins and ends with, and what stands between."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def arguments(schema: Json, style: str = "json") -> Json:
    """Arguments of a schema; `style` is how xgrammar names their spelling."""
    content = {"type": "json_schema", "json_schema": schema}
    return content if style == "json" else {**content, "style": style}


def triggered(trigger: str, tags: Sequence[Json]) -> Json:
    """Free text, in which from each `trigger` on one of the tags is written."""
    return {"type": "triggered_tags", "triggers": [trigger], "tags": list(tags)}
