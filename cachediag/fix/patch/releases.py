"""The releases of vllm-mlx that the patch is known to fit, and what each has of its own.

The facts are in `releases.toml`. A release is known by the bytes of its `engine/simple.py`.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["Own", "Release", "releases"]

Own = Literal["none", "system"]
"""The prefix cache of upstream's own: none, or one of system prompts."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release of vllm-mlx."""

    version: str
    sha256: str
    """Of `engine/simple.py`, as it is in the wheel on PyPI."""
    own: Own
    faults: tuple[str, ...]
    """What the patch mends, each a sentence."""


@cache
def releases() -> tuple[Release, ...]:
    """Every row of the table, the oldest first."""
    text = files(__package__).joinpath("releases.toml").read_text(encoding="utf-8")
    return tuple(
        Release(row["version"], row["sha256"], row["own"], tuple(row["faults"]))
        for row in tomllib.loads(text)["release"]
    )
