"""The engines that the sandbox can run, and how they are installed and started."""

import platform
import re
from typing import Literal

from cachediag.errors import UsageError

__all__ = [
    "MLX_LM",
    "RELEASES",
    "Engine",
    "checked",
    "requirements",
]

Engine = Literal["vllm-mlx", "mlx-lm"]

MLX_LM = "0.31.3"
"""The release of mlx-lm in the environment, which vllm-mlx runs on."""

RELEASES: dict[Engine, tuple[str, ...]] = {
    "vllm-mlx": ("0.2.6", "0.2.8", "0.2.9", "0.3.0", "0.4.0", "0.4.1", "0.5.0", "0.6.0"),
    "mlx-lm": (MLX_LM, "0.32.2"),
}
"""Releases that are known to run here; others may."""

_MLX = "0.32.4"
# vllm-mlx declares 6.5 GB of dependencies that serving a text model does not need. What it does
# need is held to the releases that were tried, or a new one of theirs would break a sandbox.
_NEEDED = (
    *(f"mlx-lm=={MLX_LM}", "transformers==5.24.0", "fastapi<0.200", "uvicorn<1"),
    *("prometheus-client<1", "psutil<8", "jsonschema<5", "requests<3", "python-multipart<1"),
)


def requirements() -> tuple[str, ...]:
    """What the environment holds.

    Raises:
        UsageError: MLX does not run on this machine.
    """
    system, machine = platform.system(), platform.machine()
    if system == "Linux":
        # Elsewhere the ordinary wheels have the processor's part.
        return (f"mlx[cpu]=={_MLX}", *_NEEDED)
    if (system, machine) == ("Darwin", "arm64"):
        return (f"mlx=={_MLX}", *_NEEDED)
    raise UsageError(
        f"MLX does not run on {system} {machine}",
        remedy="The sandbox needs Linux, or a Mac with Apple silicon.",
    )


def checked(engine: Engine, release: str) -> str:
    """A release's number.

    Raises:
        UsageError: it is none.
    """
    if not re.fullmatch(r"\d+(\.\d+)+[a-z0-9.]*", release):
        raise UsageError(
            f"{release!r} is no release of {engine}",
            remedy=f"Choose one of: {', '.join(RELEASES[engine])}.",
        )
    return release
