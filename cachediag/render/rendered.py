"""What a backend's tokenizer is given, with the way back to the blocks it was made of."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

__all__ = ["Piece", "Rendered", "Segment"]

_TEXT = attrgetter("text")


class Piece(NamedTuple):
    """A stretch of prompt text that belongs to one block, or to none."""

    text: str
    block: int | None
    """The block whose text it is, or which it introduces or closes; None for text that the
    template writes on its own account, such as the generation prompt."""


class Segment:
    """Text that a template writes in one go: the head, a message, the generation prompt.

    Made once for each content, and shared by every prompt of a session that holds it: what is
    worked out for a segment can be remembered by the object, or by its text. In `pieces`, blocks
    are counted from a first block that each prompt has its own number for.
    """

    __slots__ = ("_find", "_pieces", "text")

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        self.text: str = "".join([piece.text for piece in pieces])
        self._pieces: tuple[Piece, ...] | None = pieces
        self._find: Callable[[], tuple[Piece, ...]] | None = None

    @classmethod
    def found(cls, text: str, find: Callable[[], tuple[Piece, ...]]) -> "Segment":
        """A segment whose pieces are found only when they are asked for."""
        segment = cls((Piece(text, None),))
        segment._pieces, segment._find = None, find
        return segment

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text in pieces, blocks counted from the segment's first."""
        if self._pieces is None:
            assert self._find is not None
            self._pieces, self._find = self._find(), None
        return self._pieces


@dataclass(frozen=True, eq=False)
class Rendered:
    """A prompt as the backend's tokenizer is given it, character for character.

    Block numbers count `Prompt.blocks` of the prompt that was rendered, in the order in which the
    protocol reads them, whatever order the backend gives them.
    """

    segments: tuple[Segment, ...]
    firsts: tuple[int, ...]
    """For each segment the number of the block that its pieces count from."""
    prefix: int | None = None
    """Characters at the head that depend on the tools and the leading system messages alone: up to
    where the text of a first user message begins. None where neither such a message nor a tool
    result follows them."""
    talk: int | None = None
    """Number of the first segment that stands behind the tools and the system prompt; None where
    that cannot be told, as in a prompt of one segment."""
    find_last_user: "Callable[[Rendered], int | None]" = lambda _: None
    exact: bool = False
    """The text is what the backend builds, proven against the backend itself; else an estimate."""
    notes: tuple[str, ...] = ()
    """Why it is an estimate, and what is known to differ."""

    @cached_property
    def last_user(self) -> int | None:
        """Characters before the text of the last message, where that is the user's; else None."""
        return self.find_last_user(self)

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "".join(self.texts)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The prompt segment by segment: what an encoder that remembers texts is given."""
        return tuple(map(_TEXT, self.segments))

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The whole prompt in pieces, blocks numbered as in `Prompt.blocks`."""
        return tuple(self._placed())

    def _placed(self) -> Iterator[Piece]:
        for segment, first in zip(self.segments, self.firsts, strict=True):
            for text, block in segment.pieces:
                yield Piece(text, None if block is None else first + block)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The offset of each segment in characters; one more entry is the length of the whole."""
        return tuple(accumulate(map(len, self.texts), initial=0))

    def block_at(self, offset: int) -> int | None:
        """The block that a character belongs to; None for the template's own and past the end.

        Args:
            offset: characters from the start of the prompt.
        """
        number = bisect_right(self.starts, offset) - 1
        if not 0 <= number < len(self.segments):
            return None
        end = self.starts[number]
        for text, block in self.segments[number].pieces:
            end += len(text)
            if offset < end:
                return None if block is None else self.firsts[number] + block
        return None
