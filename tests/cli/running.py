"""Run the command line, in this process or as a user's shell would."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cachediag.cli import main

ROOT = Path(__file__).parents[2]


def bare(home: Path) -> dict[str, str]:
    """All that a command needs of the environment, and nothing of whoever runs the tests.

    coverage's own variables go along, or a process of its own would not be measured.
    """
    measured = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return measured | {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        "CACHEDIAG_HOME": str(home),
    }


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def ran(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ran:
    """Run one command; give its exit code and what it printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cachediag", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    printed = capsys.readouterr()
    return Ran(code, printed.out, printed.err)
