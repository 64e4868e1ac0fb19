"""Servers as processes: what one that fails last said, and how all of it is ended."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

__all__ = ["end_group", "last_line"]

_LONGEST = 200


def last_line(log: Path) -> str:
    """The last line of a log, cut to what fits into a message; empty where there is none."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip()[:_LONGEST] if lines else ""


def end_group(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """End a process and whatever it started, first by asking.

    Args:
        process: the leader of a group of its own.
        seconds: how long it is waited for, each time.
    """
    for how in (signal.SIGTERM, signal.SIGKILL):
        # The group may outlive its leader.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
