"""Which prompts are kept: slots in least-recently-used order, capped by number and by bytes.

A slot belongs to one system prefix, the tokens of a rendered system prompt and its tools. It holds
the state after that prefix and the branches, the conversations that grew out of it. The prefix is
pinned: branches push each other out and not it, and it goes only with its slot.

Nothing here knows of arrays or models, and what is found never depends on a guess: a state is taken
only for tokens that are equal to its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Protocol

__all__ = ["Found", "Kept", "Slot", "State", "Store", "shared"]

BRANCHES = 8
"""Conversations that a slot holds besides its system prefix."""

_PIECE = 1024


class State(Protocol):
    """What a model computed of some tokens."""

    @property
    def nbytes(self) -> int:
        """How much memory it takes, apart from what it shares with another."""
        ...

    @property
    def trims(self) -> bool:
        """It can be cut to fewer tokens."""
        ...


@dataclass(frozen=True, eq=False)
class Kept:
    """The state after some tokens."""

    tokens: Sequence[int]
    state: State
    used: list[int]
    """When it was last of use, in one item, on the store's own clock."""


@dataclass(frozen=True)
class Found:
    """The state that is the nearest to a prompt."""

    kept: Kept
    length: int
    """How many of its tokens the prompt begins with."""


@dataclass(eq=False)
class Slot:
    """One system prefix and the conversations that grew out of it."""

    key: Sequence[int]
    """The tokens of the system prefix."""
    used: int
    """A count that grows with each use of any slot."""
    system: Kept | None = None
    branches: list[Kept] = field(default_factory=list)

    @property
    def kept(self) -> Iterator[Kept]:
        """All states, the system prefix first."""
        if self.system is not None:
            yield self.system
        yield from self.branches

    @property
    def nbytes(self) -> int:
        """Memory of all states."""
        return sum(kept.state.nbytes for kept in self.kept)


class Store:
    """The slots.

    Args:
        slots: how many.
        max_bytes: how much memory all of them may take.
        branches: how many conversations a slot may hold.
    """

    def __init__(self, slots: int, max_bytes: int, branches: int = BRANCHES) -> None:
        self.capacity = slots
        self.max_bytes = max_bytes
        self.slots: list[Slot] = []
        self.evictions = 0
        self._branches = branches
        self._clock = 0
        # Cleared and asked for statistics from another thread than the one that generates.
        self._lock = RLock()

    @property
    def nbytes(self) -> int:
        """Memory of all slots."""
        return sum(slot.nbytes for slot in self.slots)

    def find(self, tokens: Sequence[int], limit: int) -> Found | None:
        """The state that saves the most of a prompt, and how many tokens of it are of use.

        Args:
            tokens: the prompt.
            limit: at most so many tokens are of use.
        """
        with self._lock:
            best: Found | None = None
            owner: Slot | None = None
            for slot in self.slots:
                for kept in slot.kept:
                    length = _usable(kept, tokens, limit)
                    if length > (best.length if best else 0):
                        best, owner = Found(kept, length), slot
            if best is not None and owner is not None:
                owner.used = best.kept.used[0] = self._tick()
            return best

    def system(self, key: Sequence[int]) -> Kept | None:
        """The system prefix of a slot."""
        with self._lock:
            slot = self._slot(key)
            return slot.system if slot else None

    def keep_system(self, key: Sequence[int], state: State, settle: Callable[[], None]) -> bool:
        """Keep the state after a system prefix, in a slot of its own.

        Args:
            key: tokens of the prefix.
            state: what may not be computed yet.
            settle: computes it, once there is room.

        Returns:
            Whether there was room.
        """
        with self._lock:
            if not self._make_room(state.nbytes, key):
                return False
            settle()
            self._open(key).system = Kept(key, state, [self._tick()])
            return True

    def keep_branch(
        self, key: Sequence[int], tokens: Sequence[int], state: State, settle: Callable[[], None]
    ) -> bool:
        """Keep the state after a conversation. One that it continues is given up for it.

        Args:
            key: tokens of its system prefix.
            tokens: all tokens of the conversation.
            state: what may not be computed yet.
            settle: computes it, once there is room.

        Returns:
            Whether there was room.
        """
        with self._lock:
            slot = self._open(key)
            slot.branches = [
                kept for kept in slot.branches if shared(kept.tokens, tokens) < len(kept.tokens)
            ]
            while len(slot.branches) >= self._branches:
                self._evict_branch(slot, min(slot.branches, key=_age))
            if not self._make_room(state.nbytes, key):
                return False
            settle()
            slot.branches.append(Kept(tokens, state, [self._tick()]))
            return True

    def drop(self, kept: Kept) -> None:
        """Give up a state, and with a system prefix all that grew out of it."""
        with self._lock:
            self.slots = [slot for slot in self.slots if slot.system is not kept]
            for slot in self.slots:
                slot.branches = [each for each in slot.branches if each is not kept]

    def clear(self) -> int:
        """Give up all of it; returns how many slots there were."""
        with self._lock:
            count = len(self.slots)
            self.slots = []
            return count

    def described(self) -> list[dict[str, Any]]:
        """What is kept, the slot that was used last first."""
        with self._lock:
            return [
                {
                    "system_tokens": len(slot.key),
                    "pinned": slot.system is not None,
                    "bytes": slot.nbytes,
                    "branches": [len(kept.tokens) for kept in slot.branches],
                }
                for slot in sorted(self.slots, key=lambda slot: -slot.used)
            ]

    def _slot(self, key: Sequence[int]) -> Slot | None:
        return next((slot for slot in self.slots if slot.key == key), None)

    def _open(self, key: Sequence[int]) -> Slot:
        slot = self._slot(key)
        if slot is None:
            slot = Slot(key, 0)
            while len(self.slots) >= self.capacity:
                self._evict_slot(min(self.slots, key=lambda each: each.used))
            self.slots.append(slot)
        slot.used = self._tick()
        return slot

    def _make_room(self, nbytes: int, key: Sequence[int]) -> bool:
        # Conversations go before the prefixes that they share, and the slot at hand never.
        while self.nbytes + nbytes > self.max_bytes:
            branches = [(kept, slot) for slot in self.slots for kept in slot.branches]
            others = [slot for slot in self.slots if slot.key != key]
            if branches:
                kept, slot = min(branches, key=lambda each: _age(each[0]))
                self._evict_branch(slot, kept)
            elif others:
                self._evict_slot(min(others, key=lambda slot: slot.used))
            else:
                return False
        return True

    def _evict_branch(self, slot: Slot, kept: Kept) -> None:
        slot.branches = [each for each in slot.branches if each is not kept]
        self.evictions += 1

    def _evict_slot(self, slot: Slot) -> None:
        self.slots = [each for each in self.slots if each is not slot]
        self.evictions += 1

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences have in common from their beginning."""
    end = min(len(one), len(other))
    start = 0
    # Slices compare many times faster than items.
    while start < end and one[start : start + _PIECE] == other[start : start + _PIECE]:
        start += _PIECE
    while start < end and one[start] == other[start]:
        start += 1
    return min(start, end)


def _usable(kept: Kept, tokens: Sequence[int], limit: int) -> int:
    length = shared(kept.tokens, tokens)
    if length == len(kept.tokens) <= limit:
        return length
    return min(length, limit) if kept.state.trims else 0


def _age(kept: Kept) -> int:
    return kept.used[0]
