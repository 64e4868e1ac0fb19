"""What the extra `fleet` brings, and the one line that says so where it is missing."""

from importlib.util import find_spec
from typing import Final, Literal

from cachediag.errors import UsageError

__all__ = ["INSTALL", "has", "need"]

INSTALL: Final = "pip install 'cachediag[fleet]'"

Package = Literal["distributed", "fsspec", "pyarrow"]


def has(package: Package) -> bool:
    """Whether a package of the extra is installed."""
    return find_spec(package) is not None


def need(package: Package, what: str) -> None:
    """Refuse what cannot be done without a package.

    Args:
        package: the name it is imported by.
        what: what needs it, as on the command line.

    Raises:
        UsageError: it is not installed.
    """
    if not has(package):
        raise UsageError(
            f"needs {package}, which is not installed", where=what, remedy=f"Install it: {INSTALL}"
        )
