"""What several models need: keys of prefixes, actions that fall due, one place for their limits."""

import heapq
from bisect import bisect_right
from collections.abc import Callable
from hashlib import blake2b

from cachediag.analysis.engines.model import Reason
from cachediag.errors import UsageError
from cachediag.tokens.sequence import TokenSequence

__all__ = ["Pending", "at_least", "evicted", "prefix_digest", "window"]


def prefix_digest(tokens: TokenSequence, length: int) -> bytes:
    """A key of the first tokens of a prompt, at the cost of one chunk.

    Equal prefixes have equal keys where both prompts are cut into chunks alike, as an encoder
    cuts them.
    """
    whole = bisect_right(tokens.starts, length) - 1
    before = tokens.chain[whole - 1] if whole else b""
    rest = length - tokens.starts[whole]
    if not rest:
        return before
    return blake2b(before + tokens.chunks[whole].ids[:rest].tobytes(), digest_size=16).digest()


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
