"""Writing a file that others read, in one step."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from cachediag.errors import UsageError

__all__ = ["replace_file", "write_private"]

_PRIVATE = 0o600


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Put a file in the place of another: a reader sees the old one or the new one.

    It is a new file, for the old one may be shared with others by a hard link.

    Args:
        path: the file, which need not be there.
        content: what it is to hold.
        mode: its permissions.

    Raises:
        OSError: it cannot be written; nothing is left of the attempt.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def write_private(path: Path, content: bytes) -> None:
    """Write a file that its owner alone can read; one that is there is replaced.

    Raises:
        UsageError: it cannot be written; nothing is left of the attempt.
    """
    try:
        replace_file(path, content, _PRIVATE)
    except OSError as error:
        raise UsageError(f"cannot be written ({error.strerror})", where=str(path)) from error
