"""An environment of a tool's own, and the tool run in it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from peers.tool import Command, Tool

__all__ = ["FailedError", "Ran", "install", "run"]

_TIMEOUT_S = 120.0


class FailedError(Exception):
    """A tool could not be installed, or did not end as it says it does."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A tool's answer."""

    output: str
    seconds: float
    """Wall time of the process."""


def install(tool: Tool, place: Path) -> Path:
    """Make a virtual environment with the release that is judged.

    Returns:
        Its interpreter.

    Raises:
        FailedError: that release is not to be had, or does not install.
    """
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if uv := shutil.which("uv"):
        _done([uv, "venv", "--quiet", "--python", sys.executable, str(place)])
        _done([uv, "pip", "install", "--quiet", "--python", str(python), *tool.requires])
    else:
        _done([sys.executable, "-m", "venv", str(place)])
        _done([str(python), "-m", "pip", "install", "--quiet", *tool.requires])
    return python


def run(python: Path, command: Command, home: Path) -> Ran:
    """Run a tool on one case.

    Args:
        python: the interpreter of the tool's environment.
        command: what to run.
        home: a folder that the tool may take for the user's own.

    Raises:
        FailedError: it was too slow, or its exit code is none with which it tells findings.
    """
    program, *given = command.arguments
    begun = perf_counter()
    try:
        done = subprocess.run(
            [python.parent / program, *given],
            capture_output=True,
            check=False,
            cwd=home,
            encoding="utf-8",
            env=_environment(python, home),
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise FailedError(f"not done after {_TIMEOUT_S:g} s") from error
    seconds = perf_counter() - begun
    if done.returncode not in command.fine:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise FailedError(f"exit code {done.returncode}: {' / '.join(said)}")
    if command.output is None:
        return Ran(done.stdout, seconds)
    return Ran(command.output.read_text(encoding="utf-8"), seconds)


def _environment(python: Path, home: Path) -> dict[str, str]:
    # The cases need no network: what a tool tries to fetch fails at once, as on any machine.
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", os.defpath)]),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "HF_HUB_OFFLINE": "1",
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
    }


def _done(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise FailedError(f"{' '.join(command)}: {' / '.join(said)}")
