"""Session files of our own."""

from cachediag.capture.importers.reading import Input
from cachediag.session import Session, Source

__all__ = ["SessionFile"]


class SessionFile:
    """Opens session files, and says of other SQLite files that they are none."""

    def recognises(self, source: Input) -> bool:
        """Tell by SQLite's first bytes."""
        return source.head().startswith(b"SQLite format 3\0")

    def read(self, source: Input) -> Source:
        """Open the session; it stays open, and is read from the file as it is asked for.

        Raises:
            SessionError: it is damaged, of a newer format, or another program's database.
        """
        return Session.open(source.path)
