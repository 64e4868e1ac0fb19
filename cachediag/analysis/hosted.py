"""What a hosted cache looks at beside the tokens: blocks and cache breakpoints.

Only new text costs: a conversation that goes on from an earlier one is looked through from where
it differs, and a block is made when a cache looks at it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias, overload

from cachediag.analysis.engines.model import Breakpoint, CacheRequest, PromptBlock
from cachediag.heads import common_head
from cachediag.model import Block, Part, Prompt, Run
from cachediag.render.memo import Latest, Memo
from cachediag.render.rendered import Rendered, Segment
from cachediag.tokens.encoder import Encoder

__all__ = ["Places"]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a run, looked through block by block."""

    parts: tuple[Part, ...]
    counts: tuple[int, ...]
    """For each part the blocks up to its end."""
    blocks: tuple[Block, ...]
    marked: tuple[int, ...]
    """Which of the blocks have a cache marker."""
    images: tuple[int, ...]
    """Which of the blocks are an image, or hold one."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """Segments in a row whose blocks follow one another, and where these end."""

    segments: tuple[Segment, ...]
    firsts: tuple[int, ...]
    tokens: tuple[int, ...]
    """For each segment the tokens up to its end."""
    counts: tuple[int, ...]
    """For each segment the blocks up to its end."""
    ends: tuple[int, ...]
    """For each block the tokens up to its end."""


_Measured: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
"""A segment's tokens, and for each of its blocks the number and the tokens up to its end."""

_MEASURED = 1024
"""Segments that are remembered: tools and system texts come with each request."""
_NO_PARTS = _Parts((), (), (), (), ())
_NO_ENDS = _Ends((), (), (), (), ())


class Places:
    """Where the blocks of a session's prompts stand; remembers the latest of each conversation.

    Args:
        encoder: the session's encoder.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._measured: Memo[Segment, _Measured] = Memo(_MEASURED)
        self._talks: Latest[Part, _Parts] = Latest()
        self._ends: Latest[tuple[Segment, int], _Ends] = Latest()

    def with_blocks(
        self,
        asked: CacheRequest,
        prompt: Prompt,
        rendered: Rendered,
        *,
        token_factor: float = 1.0,
    ) -> CacheRequest:
        """A request with its blocks and breakpoints.

        Args:
            asked: the request without them.
            prompt: its prompt, in hosted order.
            rendered: the text that stands for it.
            token_factor: how many tokens the model's own tokenizer makes of one of the encoder's.
        """
        runs = [(run, self._parts(run)) for run in prompt.runs if run.parts]
        blocks = _Blocks(runs, *self._placed(prompt, rendered), len(asked.tokens))
        return replace(
            asked,
            blocks=blocks,
            breakpoints=tuple(
                Breakpoint(first + at, "1h" if _ttl(parts.blocks[at]) == "1h" else "5m")
                for (_, parts), first in zip(runs, blocks.firsts, strict=False)
                for at in parts.marked
            ),
            has_images=any(parts.images for _, parts in runs),
            token_factor=token_factor,
        )

    def _parts(self, run: Run) -> _Parts:
        if run.section != "messages":
            return _looked_through(run.parts, _NO_PARTS)
        made = _looked_through(run.parts, self._talks.get(run.parts[0]) or _NO_PARTS)
        self._talks.keep(run.parts[0], made)
        return made

    def _placed(
        self, prompt: Prompt, rendered: Rendered
    ) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
        """Where blocks end: the first ones, the tokens before the others, and these from there on.

        Inside a segment tokens are shared out by characters: only an estimate is at hand anyway.
        """
        segments, firsts, talk = rendered.segments, rendered.firsts, rendered.talk
        if talk is not None:
            behind = zip(map(self._of, segments[talk:]), firsts[talk:], strict=True)
            start = next((first + ends[0][0] for (_, ends), first in behind if ends), 0)
            head = _scattered(map(self._of, segments[:talk]), firsts[:talk], start)
            rest = self._in_a_row(segments[talk:], firsts[talk:], start) if head else ()
            if head and rest:
                return *head, rest
        # Each is a whole prompt, or there are many of them: they are not remembered.
        whole = _scattered(map(self._measure, segments), firsts, prompt.block_count)
        assert whole is not None
        return *whole, ()

    def _in_a_row(
        self, segments: tuple[Segment, ...], firsts: tuple[int, ...], start: int
    ) -> tuple[int, ...] | None:
        """Where blocks end in a conversation; None where they do not follow one another.

        Args:
            segments: those of the conversation.
            firsts: the numbers of their first blocks.
            start: the number of the first block of all.
        """
        if not segments:
            return ()
        key = segments[0], start
        old = self._ends.get(key) or _NO_ENDS
        shared = min(common_head(old.segments, segments), common_head(old.firsts, firsts))
        at, count = (old.tokens[shared - 1], old.counts[shared - 1]) if shared else (0, 0)
        last = old.ends[count - 1] if count else 0
        all_tokens, counts, ends = list[int](), list[int](), list[int]()
        for segment, first in zip(segments[shared:], firsts[shared:], strict=True):
            tokens, inside = self._of(segment)
            for block, end in inside:
                left_out = first + block - start - count
                if left_out < 0:
                    return None
                ends += [last] * left_out
                last = max(last, at + end)
                ends.append(last)
                count += left_out + 1
            at += tokens
            all_tokens.append(at)
            counts.append(count)
        kept = old.counts[shared - 1] if shared else 0
        made = _Ends(
            segments,
            firsts,
            old.tokens[:shared] + tuple(all_tokens),
            old.counts[:shared] + tuple(counts),
            old.ends[:kept] + tuple(ends),
        )
        self._ends.keep(key, made)
        return made.ends

    def _of(self, segment: Segment) -> _Measured:
        return self._measured.get(segment, self._measure)

    def _measure(self, segment: Segment) -> _Measured:
        tokens = sum([len(chunk.ids) for chunk in self._encoder.chunks(segment.text)])
        ends, characters = dict[int, int](), 0
        for text, block in segment.pieces:
            characters += len(text)
            if block is not None:
                ends[block] = round(tokens * (characters / len(segment.text)))
        return tokens, tuple(sorted(ends.items()))


class _Blocks(Sequence[PromptBlock]):
    """The blocks of a prompt, each made when it is asked for."""

    __slots__ = ("_before", "_head", "_limit", "_rest", "_runs", "firsts")

    def __init__(
        self,
        runs: Sequence[tuple[Run, _Parts]],
        head: tuple[int, ...],
        before: int,
        rest: tuple[int, ...],
        limit: int,
    ) -> None:
        self._runs = runs
        self._head = head
        self._before = before
        self._rest = rest
        self._limit = limit
        self.firsts = tuple(accumulate([len(parts.blocks) for _, parts in runs], initial=0))
        """For each run the number of its first block; one more entry is the number of all."""

    def __len__(self) -> int:
        return self.firsts[-1]

    @overload
    def __getitem__(self, index: int) -> PromptBlock: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PromptBlock, ...]: ...
    def __getitem__(self, index: int | slice) -> PromptBlock | tuple[PromptBlock, ...]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(len(self))[index])
        return self._block(range(len(self))[index])

    def _block(self, number: int) -> PromptBlock:
        at = bisect_right(self.firsts, number) - 1
        (run, parts), inside = self._runs[at], number - self.firsts[at]
        message = None
        if run.is_messages and run.indexes is not None:
            message = run.indexes[bisect_right(parts.counts, inside)]
        block = parts.blocks[inside]
        return PromptBlock(self._end(number), run.section, block.kind, block.role, message)

    def _end(self, number: int) -> int:
        head, rest = self._head, self._rest
        if number < len(head):
            end = head[number]
        elif rest:
            # What has no text ends where the block before it does.
            end = self._before + rest[min(number - len(head), len(rest) - 1)]
        else:
            end = head[-1] if head else 0
        # Segments that are encoded in one with their neighbours make fewer tokens than alone.
        return min(end, self._limit)


def _looked_through(parts: tuple[Part, ...], old: _Parts) -> _Parts:
    """The blocks of some parts; those at the head that others had too are taken from these."""
    shared = common_head(old.parts, parts)
    count = kept = old.counts[shared - 1] if shared else 0
    counts = list[int]()
    for part in parts[shared:]:
        count += len(part.blocks)
        counts.append(count)
    blocks = tuple([block for part in parts[shared:] for block in part.blocks])
    numbered = list(enumerate(blocks, kept))
    return _Parts(
        parts,
        old.counts[:shared] + tuple(counts),
        old.blocks[:kept] + blocks,
        old.marked[: bisect_left(old.marked, kept)]
        + tuple([number for number, block in numbered if block.marker is not None]),
        old.images[: bisect_left(old.images, kept)]
        + tuple([number for number, block in numbered if _is_image(block)]),
    )


def _scattered(
    measured: Iterable[_Measured], firsts: Sequence[int], count: int
) -> tuple[tuple[int, ...], int] | None:
    """Where so many blocks end, and the tokens of all; None where there are more blocks."""
    ends, at = [0] * count, 0
    for (tokens, inside), first in zip(measured, firsts, strict=True):
        for block, end in inside:
            if first + block >= count:
                return None
            ends[first + block] = at + end
        at += tokens
    return tuple(accumulate(ends, max)), at


def _ttl(block: Block) -> str | None:
    return block.marker.ttl if block.marker else None


def _is_image(block: Block) -> bool:
    return block.kind == "image" or b'"type":"image"' in block.canonical
