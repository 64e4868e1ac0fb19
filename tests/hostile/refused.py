"""What a reader says of what it refuses."""

from collections.abc import Callable

from cachediag.errors import CachediagError

__all__ = ["refusal"]


def refusal(read: Callable[[], object]) -> CachediagError | None:
    """The error with which something is refused; None where it is read."""
    try:
        read()
    except CachediagError as error:
        return error
    return None
