"""What is installed only where it is asked for, and the line that says how."""

from importlib.util import find_spec
from typing import Literal

from cachediag.errors import UsageError

__all__ = ["Extra", "has", "install", "need"]

Extra = Literal["fleet", "grammar", "mlx", "plot", "tokenizers"]
"""A set of packages that can be installed along with this one."""


def install(extra: Extra) -> str:
    """The command that installs an extra."""
    return f"pip install 'cachediag[{extra}]'"


def has(package: str) -> bool:
    """Whether a package is installed, by the name that it is imported by."""
    return find_spec(package) is not None


def need(package: str, extra: Extra, what: str) -> None:
    """Refuse what cannot be done without a package.

    Args:
        package: the name that it is imported by.
        extra: brings it.
        what: what needs it, as on the command line.

    Raises:
        UsageError: it is not installed.
    """
    if not has(package):
        raise UsageError(
            f"needs {package}, which is not installed",
            where=what,
            remedy=f"Install it: {install(extra)}",
        )
