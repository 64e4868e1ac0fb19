"""Writes what commands print into the pages that show it.

In a page, a block that begins with the line `$ cachediag …` is followed by what that command
prints in a terminal of 80 columns, when `cachediag demo` has been run before it. Run by
`nox -s docs`; a test fails while a committed page shows something else.
"""

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["PAGES", "refreshed"]

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")

_BLOCK = re.compile(r"^```console\n\$ cachediag (.*)\n(?:.*\n)*?```$", re.MULTILINE)
# Times differ from run to run.
_SECONDS = re.compile(r"\d\.\d s\b")


def refreshed(page: str) -> str:
    """The page with its blocks as the commands print them now."""
    return _BLOCK.sub(
        lambda block: f"```console\n$ cachediag {block[1]}\n{_said(block[1])}```", page
    )


@cache
def _said(words: str) -> str:
    lines = _run(words, _home()).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


@cache
def _home() -> str:
    home = tempfile.TemporaryDirectory(prefix="cachediag-docs-")
    _kept.append(home)
    _run("demo", home.name)
    return home.name


# Removed when the interpreter ends.
_kept: list[tempfile.TemporaryDirectory[str]] = []


def _run(words: str, home: str) -> str:
    # A dumb terminal is one without colours.
    terminal = {"FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "80", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "cachediag", *words.split()],
        env={**os.environ, **terminal, "CACHEDIAG_HOME": home},
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    return _SECONDS.sub("0.0 s", done.stdout)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")
