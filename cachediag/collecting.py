"""How often Python looks for cycles, in commands that read whole sessions."""

import gc

__all__ = ["collect_seldom"]


def collect_seldom() -> None:
    """Have the cycle collector look less often, for the rest of this process.

    A session makes many objects that stay and hardly any cycles: looking for them takes up to a
    tenth of the time. Not for what runs on, as the recorder does.
    """
    gc.set_threshold(100_000, 50, 100)
