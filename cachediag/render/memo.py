"""What the steps of rendering remember by."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Memo", "shared_items"]

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
