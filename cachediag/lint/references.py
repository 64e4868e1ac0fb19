"""Where a `$ref` leads, without ever leaving the schema."""

from urllib.parse import unquote

from cachediag.model import Json

__all__ = ["MISSING", "is_local", "resolve"]

MISSING = object()
"""Nothing stands there; not `None`, which is JSON."""


def is_local(reference: str) -> bool:
    """Whether a reference is one into the same document, by a path."""
    return reference == "#" or reference.startswith("#/")


def resolve(root: Json, reference: str) -> Json:
    """What a local reference leads to; `MISSING` where it leads nowhere.

    Args:
        root: the whole schema.
        reference: `#`, or `#/` and a JSON pointer.
    """
    current = root
    for part in reference[2:].split("/") if len(reference) > 2 else ():
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(current, dict) and name in current:
            current = current[name]
        elif isinstance(current, list) and name.isdecimal() and int(name) < len(current):
            current = current[int(name)]
        else:
            return MISSING
    return current
