"""Where the sandbox lives, and who is told of what it does."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from cachediag.errors import CachediagError

__all__ = ["Sandbox", "Tell", "kept", "locked", "sandbox_root"]

Tell = Callable[[str], None]
"""Told, in a short line without a full stop, what is being done."""


def sandbox_root() -> Path:
    """Return the sandbox's directory; it need not exist.

    It is `$CACHEDIAG_HOME/sandbox`, or else `sandbox` in the user's cache directory.
    """
    home = os.environ.get("CACHEDIAG_HOME")
    base = Path(home).expanduser() if home else platformdirs.user_cache_path("cachediag")
    return base / "sandbox"


def _nobody(_line: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A directory that holds an environment, releases of engines, and models.

    ```
    environment-…/          the interpreter, mlx, mlx-lm and what the engines need
    releases/ENGINE-X.Y.Z/  one release alone, to be put before the environment's own packages
    models/KIND-…/          tiny models
    runs/                   homes and logs of the servers that run now
    install.log             what the installer said last
    failed.log              what the last server said that did not start
    ```

    What is in its place is complete: everything is made beside it and then moved there.
    """

    root: Path = field(default_factory=sandbox_root)
    tell: Tell = _nobody


@contextmanager
def locked(sandbox: Sandbox) -> Iterator[None]:
    """Let one process at a time make things; another waits, and finds them made.

    Raises:
        CachediagError: the directory cannot be made.
    """
    try:
        sandbox.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (sandbox.root / "lock").open("wb")
    except OSError as error:
        raise CachediagError(
            f"cannot be made ({error.strerror})",
            where=str(sandbox.root),
            remedy="Set CACHEDIAG_HOME to a directory that can be written",
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sandbox.tell("waiting for another process that makes the sandbox")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kept(sandbox: Sandbox, place: Path, make: Callable[[Path], None]) -> Path:
    """Return a directory, and make it first where it is not there yet.

    Args:
        sandbox: the place stands in it.
        place: the directory.
        make: given a path beside it that does not exist, makes a directory there.
    """
    if place.is_dir():
        return place
    with locked(sandbox):
        if place.is_dir():
            return place
        place.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix="making-", dir=sandbox.root))
        try:
            make(staging / place.name)
            (staging / place.name).rename(place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return place
