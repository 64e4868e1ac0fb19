"""The caches that are in force, by the model that each serves."""

from typing import Any, Protocol

__all__ = ["Cache", "caches"]


class Cache(Protocol):
    """What others than the generation know of a cache."""

    takes_system_anywhere: bool

    def stats(self) -> dict[str, Any]:
        """What `/v1/cache/stats` tells."""
        ...

    def clear(self) -> int:
        """Give up all that is kept; returns how many slots there were."""
        ...


caches: dict[int, Cache] = {}
"""By the identity of the model."""
