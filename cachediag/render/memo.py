"""What the steps of rendering remember by."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Latest", "Memo", "shared_items"]

_TALKS = 64

K = TypeVar("K")
V = TypeVar("V")


class Memo(Generic[K, V]):
    """Remembers some values by their keys, and forgets all of them when there are too many.

    For values that are large, or that a client makes a new one of with each request.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[K, V] = {}

    def get(self, key: K, make: Callable[[K], V]) -> V:
        """The value of a key, made where it is not remembered."""
        try:
            return self._values[key]
        except KeyError:
            if len(self._values) >= self._most:
                self._values.clear()
            value = self._values[key] = make(key)
            return value


class Latest(Generic[K, V]):
    """What came of a conversation's latest prompt, for its next one to go on from.

    Forgets all where there are too many: then the next prompt of each is made anew.
    """

    def __init__(self) -> None:
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """What was kept of a conversation; None where nothing is."""
        return self._values.get(key)

    def keep(self, key: K, value: V) -> None:
        """Keep this in the place of what was kept before."""
        if len(self._values) >= _TALKS and key not in self._values:
            self._values.clear()
        self._values[key] = value


def shared_items(a: Sequence[object], b: Sequence[object]) -> int:
    """How many items at the head two sequences have in common: the very same objects.

    Both are lists, or both are tuples.
    """
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
