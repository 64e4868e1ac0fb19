"""E01: nothing but white space differs."""

__all__ = ["CODE", "explains"]

CODE = "E01"


def explains(before: str, after: str) -> bool:
    """Whether two texts are the same but for white space."""
    return before != after and "".join(before.split()) == "".join(after.split())
