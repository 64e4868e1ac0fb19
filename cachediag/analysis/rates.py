"""Shares of what was counted, which may be nothing."""

__all__ = ["share"]


def share(part: float, whole: float) -> float:
    """Which share of the whole a part is; 0 where there is no whole."""
    return part / whole if whole else 0.0
