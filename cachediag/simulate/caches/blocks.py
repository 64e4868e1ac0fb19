"""Prefix caches of blocks: without a limit, and with one in least-recently-used order.

A prompt's blocks are kept from the beginning of its prefill on. No other prompt of the replica is
prefilled until that has ended, so only a router that looks into the cache meanwhile could tell the
difference. The blocks of the reply are kept from its end on. The limit is that of the cache alone:
running requests take no room of it, and hold on to nothing in it.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Container
from itertools import repeat

from cachediag.simulate.model import Request

__all__ = ["AllBlocks", "RecentBlocks"]


def _leading(blocks: tuple[int, ...], kept: Container[int]) -> int:
    """How many blocks at the head of a prompt are kept.

    A key is kept only where all before it are: no block is dropped before those behind it.
    """
    return bisect_right(blocks, False, key=lambda key: key not in kept)


def _reused(request: Request, blocks: int, size: int) -> int:
    """Tokens in so many blocks of a prompt; its last one is always prefilled."""
    return max(0, min(blocks * size, request.input_tokens - 1))


class AllBlocks:
    """Keeps every block.

    Args:
        size: tokens in a block.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: set[int] = set()

    def begin(self, request: Request, now: float) -> int:  # noqa: ARG002
        """Reuse what is kept, and keep the rest."""
        found = self.held(request.blocks)
        self._kept.update(request.blocks[found:])
        return _reused(request, found, self._size)

    def end(self, request: Request, now: float) -> None:  # noqa: ARG002
        """Keep the reply."""
        if request.kept is not None:
            self._kept.update(request.kept[self.held(request.kept) :])

    def held(self, blocks: tuple[int, ...]) -> int:
        """How many blocks at the head of a prompt are kept."""
        return _leading(blocks, self._kept)


class _Run:
    """Blocks that follow one another, and the run that they follow."""

    __slots__ = ("children", "keys", "parent", "start")

    def __init__(self, parent: "_Run | None", start: int, keys: list[int]) -> None:
        self.parent = parent
        self.start = start
        """Blocks before it, from the head of the prompt."""
        self.keys = keys
        self.children = 0


class RecentBlocks:
    """Drops what was not used for longest: of blocks last used at once, the last one first.

    A block is used when the prefill of a prompt that holds it begins, and when that request ends.
    The blocks are kept as a tree of runs, so that what a prompt costs does not follow its length
    but what is new in it: only the run in which it ends is marked as used, for a run that has been
    used last is never a leaf of the tree unless it is that one.

    Args:
        size: tokens in a block.
        limit: blocks that are kept.
    """

    def __init__(self, size: int, limit: int) -> None:
        self._size = size
        self._limit = limit
        self._runs: dict[int, _Run] = {}
        """The run that each kept block stands in."""
        self._root = _Run(None, 0, [])
        self._ends: OrderedDict[_Run, None] = OrderedDict()
        """Runs in which prompts ended, that least recently used first; every leaf is one."""

    def begin(self, request: Request, now: float) -> int:  # noqa: ARG002
        """Reuse what is kept, and keep the rest."""
        found = self._use(request.blocks)
        return _reused(request, found, self._size)

    def end(self, request: Request, now: float) -> None:  # noqa: ARG002
        """Use what is kept of the request once more, and keep the reply."""
        self._use(request.blocks if request.kept is None else request.kept)

    def held(self, blocks: tuple[int, ...]) -> int:
        """How many blocks at the head of a prompt are kept."""
        return _leading(blocks, self._runs)

    def _use(self, blocks: tuple[int, ...]) -> int:
        """Keep these blocks as the ones used last; returns how many of them were kept before."""
        found = self.held(blocks)
        end = self._run_to(blocks, found)
        new = list(blocks[found : self._limit])
        if new:
            end.children += 1
            end = _Run(end, found, new)
            self._runs.update(zip(new, repeat(end)))
        if end is not self._root:
            self._ends[end] = None
            self._ends.move_to_end(end)
        while len(self._runs) > self._limit:
            self._drop(len(self._runs) - self._limit)
        return found

    def _run_to(self, blocks: tuple[int, ...], length: int) -> _Run:
        """The run that ends with a prompt's block of that number, cut there if it must be."""
        if not length:
            return self._root
        run = self._runs[blocks[length - 1]]
        size = length - run.start
        if size == len(run.keys):
            return run
        upper = _Run(run.parent, run.start, run.keys[:size])
        upper.children = 1
        run.parent, run.start, run.keys = upper, length, run.keys[size:]
        self._runs.update(zip(upper.keys, repeat(upper)))
        return upper

    def _drop(self, most: int) -> None:
        """Drop blocks from the end of the leaf not used for longest."""
        run = next(iter(self._ends))
        if run.children:
            # What stands behind it was used later, and stands for it.
            del self._ends[run]
            return
        for key in run.keys[-most:]:
            del self._runs[key]
        del run.keys[-most:]
        parent = run.parent
        if run.keys or parent is None:
            return
        del self._ends[run]
        parent.children -= 1
        if parent is not self._root and not parent.children and parent not in self._ends:
            # It was last used when the one behind it was.
            self._ends[parent] = None
            self._ends.move_to_end(parent, last=False)
