"""What values a policy's parameters may have."""

from typing import TypeVar

from cachediag.errors import UsageError

__all__ = ["within"]

_Number = TypeVar("_Number", int, float)


def within(least: _Number, most: _Number, name: str, value: _Number) -> _Number:
    """The value of a policy's parameter.

    Raises:
        UsageError: it is too small or too large.
    """
    if not least <= value <= most:
        raise UsageError(f"{name} must be from {least} to {most}, not {value}")
    return value
