"""Time stamps that keep their order and distance when the system's clock is set anew."""

import time
from collections.abc import Callable

__all__ = ["now"]


def _ticking() -> Callable[[], float]:
    # Lifetimes in a cache go on while the machine sleeps, so the clock must too: on Linux the
    # monotonic one does not, on macOS Python's own does not.
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        if hasattr(time, name):
            number = getattr(time, name)
            return lambda: time.clock_gettime(number)
    return time.monotonic


_ticks = _ticking()
_epoch = time.time() - _ticks()


def now() -> float:
    """Give the seconds since the epoch by the system's clock as it stood when this was loaded.

    What is done to that clock later has no effect: a recording is about what came after what, and
    how long it took.
    """
    return _epoch + _ticks()
