"""Run the command line in this process."""

import sys
from dataclasses import dataclass

import pytest

from cachediag.cli import main


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
