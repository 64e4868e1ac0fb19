"""How far two sequences agree from their heads on: the question this whole project asks."""

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from array import array

__all__ = ["common_head"]

# Slices of a large body are copied: longer ones would go through slower memory.
_FIRST_STEP, _LAST_STEP = 64, 1 << 15

_Slices = TypeVar("_Slices", str, bytes, "tuple[Any, ...]", "array[int]")


def common_head(a: _Slices, b: _Slices, at_a: int = 0, at_b: int = 0) -> int:
    """How many items two sequences have in common.

    Compares slices, which runs no Python: longer and longer ones up to the first that differs, then
    by halving. The cost is that of what is shared.

    Args:
        a: one sequence.
        b: the other, of the same kind.
        at_a: where to begin in `a`.
        at_b: where to begin in `b`.
    """
    low, step, end = 0, _FIRST_STEP, min(len(a) - at_a, len(b) - at_b)
    while low < end and (a[at_a + low : at_a + low + step] == b[at_b + low : at_b + low + step]):
        low += step
        step = min(2 * step, _LAST_STEP)
    high = min(low + step, end)
    while low < high:
        middle = (low + high + 1) // 2
        if a[at_a + low : at_a + middle] == b[at_b + low : at_b + middle]:
            low = middle
        else:
            high = middle - 1
    return max(0, min(low, end))
