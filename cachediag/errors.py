"""The errors that a user may meet, each knowing its exit code.

```
CachediagError            exit 2
├── UsageError            exit 2   the command line asks for something that cannot be
├── InputError            exit 2   a file cannot be read as what it should be
│   └── SessionError      exit 2   a session file is damaged, newer, or not one
└── UpstreamError         exit 3   the backend or the upstream failed
```

Core code raises these and never prints; only `cachediag.cli` turns one into a line on stderr.
"""

__all__ = ["CachediagError", "InputError", "SessionError", "UpstreamError", "UsageError"]


class CachediagError(Exception):
    """What went wrong, where, and what to do about it.

    Args:
        message: what is wrong, in one line.
        where: the file, path or address concerned; printed first.
        remedy: what to do next; printed on a line of its own.
    """

    exit_code = 2

    def __init__(
        self, message: str, *, where: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class UsageError(CachediagError):
    """The command line asks for something that cannot be."""


class InputError(CachediagError):
    """A file cannot be read as what it should be."""


class SessionError(InputError):
    """A session file is damaged, of a newer format, or not a session at all."""


class UpstreamError(CachediagError):
    """The backend or the upstream failed."""

    exit_code = 3
