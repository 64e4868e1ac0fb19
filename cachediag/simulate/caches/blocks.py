"""Prefix caches of blocks: without a limit, and with one in least-recently-used order.

A prompt's blocks are kept from the beginning of its prefill on. No other prompt of the replica is
prefilled until that has ended, so only a router that looks into the cache meanwhile could tell the
difference. The blocks of the reply are kept from its end on; where they are known, a block that the
prompt fills in part is not kept, for it is found again under another key or not at all. The limit
is that of the cache alone: running requests take no room of it, and hold on to nothing in it.

Blocks are kept in runs of such that came together. A key names all that stands before its block: so
a run is found by its first key, and a prompt that agrees with one of its keys agrees with all keys
before that. What a prompt costs follows the runs that it is made of, not its length.
"""

from collections import OrderedDict
from collections.abc import Sequence

from cachediag.simulate.model import Request
from cachediag.simulate.runs import agreement, packed

__all__ = ["AllBlocks", "RecentBlocks"]

_NONE: Sequence[int] = ()


def _reused(request: Request, blocks: int, size: int) -> int:
    """Tokens in so many blocks of a prompt; its last one is always prefilled."""
    return max(0, min(blocks * size, request.input_tokens - 1))


def _lasting(request: Request) -> int:
    """How many of a prompt's blocks are kept: all but a last one that the reply fills up."""
    blocks, kept = request.blocks, request.kept
    size = len(blocks)
    if kept is None or not size:
        return size
    return size if len(kept) >= size and kept[size - 1] == blocks[-1] else size - 1


class AllBlocks:
    """Keeps every block.

    Args:
        size: tokens in a block.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._runs: dict[int, Sequence[int]] = {}
        """By their first keys. A prompt parts from others only where a run ends."""

    def begin(self, request: Request, now: float) -> int:  # noqa: ARG002
        """Reuse what is kept, and keep the rest."""
        found = self._keep(request.blocks, _lasting(request))
        return _reused(request, found, self._size)

    def end(self, request: Request, now: float) -> None:  # noqa: ARG002
        """Keep the reply."""
        if request.kept is not None:
            self._keep(request.kept, len(request.kept))

    def held(self, blocks: tuple[int, ...]) -> int:
        """How many blocks at the head of a prompt are kept."""
        return self._find(blocks)[0]

    def _find(self, blocks: tuple[int, ...]) -> tuple[int, Sequence[int], int]:
        """How much of a prompt is kept, the last run of it, and how many of its blocks that has."""
        runs, run, at, own, end = self._runs, _NONE, 0, 0, len(blocks)
        while at < end and (found := runs.get(blocks[at])) is not None:
            run = found
            own = agreement(run, blocks, at)
            at += own
        return at, run, own

    def _keep(self, blocks: tuple[int, ...], end: int) -> int:
        """Keep so many of these blocks; returns how many were kept before."""
        found, run, own = self._find(blocks)
        if found < end:
            if own < len(run):
                # So that prompts that part here are found to do so by one comparison.
                self._runs[run[0]], self._runs[run[own]] = run[:own], run[own:]
            self._runs[blocks[found]] = packed(blocks[found:end])
        return found


class _Run:
    """Blocks that follow one another, and the run that they follow."""

    __slots__ = ("children", "keys", "parent")

    def __init__(self, parent: "_Run | None", keys: tuple[int, ...]) -> None:
        self.parent = parent
        self.keys = keys
        self.children = 0


class RecentBlocks:
    """Drops what was not used for longest: of blocks last used at once, the last one first.

    A block is used when the prefill of a prompt that holds it begins, and when that request ends.
    Only the run in which a prompt ends is marked as used: runs before it are not dropped while
    there is one behind them.

    Args:
        size: tokens in a block.
        limit: blocks that are kept.
    """

    def __init__(self, size: int, limit: int) -> None:
        self._size = size
        self._limit = limit
        self._kept = 0
        """Blocks that are kept."""
        self._root = _Run(None, ())
        self._runs: dict[int, _Run] = {}
        """By their first keys. A prompt ends, and parts from others, only where a run ends."""
        self._ends: OrderedDict[_Run, None] = OrderedDict()
        """Runs in which prompts ended, that least recently used first; all without children are
        among them."""

    def begin(self, request: Request, now: float) -> int:  # noqa: ARG002
        """Reuse what is kept, and keep the rest."""
        found = self._use(request.blocks, _lasting(request))
        return _reused(request, found, self._size)

    def end(self, request: Request, now: float) -> None:  # noqa: ARG002
        """Use what is kept of the request once more, and keep the reply."""
        kept = request.blocks if request.kept is None else request.kept
        self._use(kept, len(kept))

    def held(self, blocks: tuple[int, ...]) -> int:
        """How many blocks at the head of a prompt are kept."""
        return self._find(blocks)[0]

    def _find(self, blocks: tuple[int, ...]) -> tuple[int, _Run, int]:
        """How much of a prompt is kept, the last run of it, and how many of its blocks that has."""
        runs, run, at, own, end = self._runs, self._root, 0, 0, len(blocks)
        while at < end and (found := runs.get(blocks[at])) is not None:
            run = found
            own = agreement(run.keys, blocks, at)
            at += own
        return at, run, own

    def _use(self, blocks: tuple[int, ...], end: int) -> int:
        """Keep so many of these blocks as the ones used last; returns how many were kept before."""
        found, run, own = self._find(blocks)
        if own < len(run.keys):
            run = self._cut(run, own)
        new = blocks[found:end]
        if new:
            self._kept += len(new)
            run = self._append(run, new)
        if run is not self._root:
            self._ends[run] = None
            self._ends.move_to_end(run)
        while self._kept > self._limit:
            self._drop(self._kept - self._limit)
        return found

    def _append(self, run: _Run, new: tuple[int, ...]) -> _Run:
        """Have blocks follow a run; returns the one in which they are."""
        if run.children or run is self._root:
            run.children += 1
            run = self._runs[new[0]] = _Run(run, new)
        else:
            run.keys += new
        return run

    def _cut(self, run: _Run, size: int) -> _Run:
        """Part a run in two; returns the upper one, which has so many blocks."""
        upper = _Run(run.parent, run.keys[:size])
        upper.children = 1
        run.parent, run.keys = upper, run.keys[size:]
        self._runs[upper.keys[0]] = upper
        self._runs[run.keys[0]] = run
        return upper

    def _drop(self, most: int) -> None:
        """Drop blocks from the end of the run not used for longest, if there is none behind it."""
        run = next(iter(self._ends))
        if run.children:
            # A run behind it was used later, and stands for it.
            del self._ends[run]
        elif len(run.keys) > most:
            run.keys = run.keys[:-most]
            self._kept -= most
        else:
            self._remove(run)

    def _remove(self, run: _Run) -> None:
        """Drop a whole run that has none behind it."""
        self._kept -= len(run.keys)
        # Not there only where keys do not name what stands before their blocks, as they should.
        self._runs.pop(run.keys[0], None)
        del self._ends[run]
        parent = run.parent
        if parent is None or parent is self._root:
            return
        parent.children -= 1
        if not parent.children and parent not in self._ends:
            # It was last used when the one behind it was.
            self._ends[parent] = None
            self._ends.move_to_end(parent, last=False)
