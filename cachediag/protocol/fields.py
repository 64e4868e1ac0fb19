"""The top-level fields that a protocol's prompt is made of."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from cachediag.model import Block, Part, Section
from cachediag.protocol.blocks import Place

__all__ = ["Field"]


@dataclass(frozen=True)
class Field:
    """One field of the body, and how an item of it becomes blocks."""

    name: str
    section: Section
    blocks: Callable[[Place], Iterator[Block]]
    is_messages: bool = False
    may_be_single: bool = False
    """The value may be one item instead of an array."""
    leads_with_system: Callable[[Part], bool] | None = None
    """Which of the first items belong to the system prompt; None where none can."""

    @cached_property
    def key(self) -> str:
        """What tells its items from those of another field."""
        return f"{self.blocks.__module__}.{self.name}"
