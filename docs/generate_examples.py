"""Writes what commands print into the pages that show it.

In a page, a block that begins with the line `$ cachediag …` is followed by what that command
prints in a terminal of 80 columns, its messages among it. `cachediag demo` has been run before the
first. The session of `cachediag demo --live` is there too, from a made-up server in the engine's
place: all but the times is the same. The commands of a page are run in their order, in a directory
of its own, so that one reads the files that another wrote. Run by `nox -s docs`; a test fails while
a committed page shows something else.
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

from cachediag.demo.live.recorded import Told, made_up, record_made_up
from cachediag.demo.live.steps import LiveDemo
from cachediag.demo.upstream import running_upstream
from cachediag.session import Session, library
from cachediag.verify.backends import Live

__all__ = ["PAGES", "refreshed"]

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    ROOT / page
    for page in ("README.md", "docs/tutorial.md", "docs/tutorial-mac.md", "docs/how-to/simulate.md")
)

_BLOCK = re.compile(r"^```console\n\$ cachediag (.*)\n(?:.*\n)*?```$", re.MULTILINE)
# Times differ from run to run, but for those that are simulated from a seed.
_SIMULATED = "simulate "
_SECONDS = re.compile(r"\d\.\d s\b")


def refreshed(page: str) -> str:
    """The page with its blocks as the commands print them now."""
    with tempfile.TemporaryDirectory(prefix="cachediag-docs-") as directory:
        return _BLOCK.sub(
            lambda block: f"```console\n$ cachediag {block[1]}\n{_said(block[1], directory)}```",
            page,
        )


def _said(words: str, directory: str) -> str:
    lines = _run(words, _home(), directory).splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


@cache
def _home() -> str:
    home = tempfile.TemporaryDirectory(prefix="cachediag-docs-")
    _kept.append(home)
    _run("demo", home.name, home.name)
    _record_live(home.name)
    return home.name


def _record_live(home: str) -> None:
    asked = LiveDemo()
    counter = asked.choice().counter
    told = Told(lambda _: None, lambda _: None)
    lane = made_up(asked.tokens, "sandbox", counter)
    with patch.dict(os.environ, {"CACHEDIAG_HOME": home}), running_upstream(lane) as upstream:
        record_made_up(Live(upstream.url, "sandbox"), asked.tokens, counter, asked.meta, told)
        _answer_at_once("demo-live")


def _answer_at_once(name: str) -> None:
    """Take the times out of a recording: on a slow day they would pass for a prefill rate."""
    with Session.open(library.resolve(name)) as session:
        meta, exchanges = dict(session.meta), list(session.exchanges())
    with library.replacing(name) as (path, _), Session.create(path, meta=meta) as session:
        for exchange in exchanges:
            at = exchange.info.started
            info = replace(exchange.info, first_byte=at, first_token=at, ended=at)
            session.append(replace(exchange, info=info))


# Removed when the interpreter ends.
_kept: list[tempfile.TemporaryDirectory[str]] = []


def _run(words: str, home: str, directory: str) -> str:
    # A dumb terminal is one without colours.
    terminal = {"FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "80", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "cachediag", *words.split()],
        env={**os.environ, **terminal, "CACHEDIAG_HOME": home, "PYTHONPATH": str(ROOT)},
        cwd=directory,
        check=True,
        stdout=subprocess.PIPE,
        # What is said on stderr stands in the same terminal.
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    return done.stdout if words.startswith(_SIMULATED) else _SECONDS.sub("0.0 s", done.stdout)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")
