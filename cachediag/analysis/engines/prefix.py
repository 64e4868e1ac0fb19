"""What several models need: keys of prefixes, actions that fall due, one place for their limits."""

import heapq
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import TypeAlias

from cachediag.analysis.engines.model import Reason
from cachediag.errors import UsageError
from cachediag.tokens.sequence import TokenSequence

__all__ = ["Pending", "PrefixKey", "at_least", "evicted", "limit", "prefix_key", "window"]

PrefixKey: TypeAlias = tuple[int, int, int]

_digest = attrgetter("digest")


def prefix_key(tokens: TokenSequence, length: int) -> PrefixKey:
    """A key of the first tokens of a prompt, for this process: equal prefixes have equal keys.

    Both prompts must be cut into chunks alike, as an encoder cuts them. Two prefixes that differ
    have one key by a chance of 2**-64.
    """
    whole = bisect_right(tokens.starts, length) - 1
    rest = length - tokens.starts[whole]
    # Faster, for one prefix of a prompt, than the sequence's own chain, which is made for all.
    head = hash(tuple(map(_digest, tokens.chunks[:whole])))
    return length, head, hash(tokens.chunks[whole].ids[:rest].tobytes()) if rest else 0


def window(tokens: TokenSequence, start: int, size: int) -> bytes:
    """The bytes of some tokens; all of them must be there."""
    at = bisect_right(tokens.starts, start) - 1
    ids = tokens.chunks[at].ids
    offset = start - tokens.starts[at]
    found = ids[offset : offset + size]
    while len(found) < size:
        at += 1
        found += tokens.chunks[at].ids[: size - len(found)]
    return found.tobytes()


class Pending:
    """What happens when a response begins or ends, held until a later request starts."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0

    def add(self, due: float | None, action: Callable[[], object]) -> None:
        """Do something at a time; at once where the time is not known."""
        if due is None:
            action()
            return
        self._count += 1
        heapq.heappush(self._waiting, (due, self._count, action))

    def run(self, now: float | None) -> None:
        """Do all that is due by now; everything, where the time is not known."""
        while self._waiting and (now is None or self._waiting[0][0] <= now):
            heapq.heappop(self._waiting)[2]()

    def wait(self) -> None:
        """Do what is due next, whenever that is."""
        if self._waiting:
            self.run(self._waiting[0][0])


def evicted(by: str, lane: str, *, slots: bool = True) -> Reason:
    """Why something that was kept is gone: another lane took its slot, or the lane's own growth."""
    if slots and by != lane:
        return Reason("P01", f"{by} took the slot")
    return Reason("P02", "dropped to make room" if by == lane else f"dropped to make room for {by}")


def at_least(least: int, name: str, value: int) -> int:
    """The value of an engine's option.

    Raises:
        UsageError: it is too small.
    """
    if value < least:
        raise UsageError(f"{name} must be at least {least}, not {value}")
    return value


def limit(capacity: int | None) -> int | None:
    """How many tokens a cache may keep; None for no limit.

    Raises:
        UsageError: it is too small.
    """
    return None if capacity is None else at_least(1, "capacity", capacity)
