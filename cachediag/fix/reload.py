"""A rule file that is read again when it has changed."""

from collections.abc import Callable
from pathlib import Path

from cachediag.errors import CachediagError
from cachediag.rules.file import read_rules
from cachediag.rules.rule import RuleSet

__all__ = ["WatchedRules"]

_State = tuple[int, int, int]
"""When the file was written (ns), its size and its inode: editors put a new file in its place."""


class WatchedRules:
    """The rules of a file, kept up with it while requests go by.

    Args:
        path: the rule file.
        tell: told, a line each, that it was read again, or why it was not; once for each state
            that the file is in.

    Raises:
        InputError: the file cannot be read as rules now. Later the last good rules stay.
    """

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self._path = path
        self._tell = tell
        # Before the file: what is written meanwhile is then seen as a change.
        self._state = self._look()
        self._rules = read_rules(path)

    def current(self) -> RuleSet:
        """Give the rules as they stand in the file, or as they last stood there."""
        state = self._look()
        if state != self._state:
            self._state = state
            self._read()
        return self._rules

    def _look(self) -> _State | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _read(self) -> None:
        try:
            rules = read_rules(self._path)
        except CachediagError as error:
            self._tell(f"{error}; the rules read before stay in force")
            return
        self._rules = rules
        enabled = len(rules.enabled)
        self._tell(f"{self._path}: read again, {enabled} of {len(rules.rules)} rules enabled")
