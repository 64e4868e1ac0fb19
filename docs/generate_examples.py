"""Writes what commands print into the pages that show it, and into the pictures of it.

In a page, a block that begins with the line `$ cachediag …` is followed by what that command
prints in a terminal of 80 columns, its messages among it. `cachediag demo` has been run before the
first. The session of `cachediag demo --live` is there too, from a made-up server in the engine's
place: all but the times is the same. The commands of a page are run in their order, in a directory
of its own, so that one reads the files that another wrote. A picture is one command's output with
its colours, as an SVG that loads nothing from elsewhere. Run by `nox -s docs`; a test fails while a
committed page or picture shows something else.
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

__all__ = ["PAGES", "PICTURES", "drawn", "refreshed"]

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    ROOT / page
    for page in ("README.md", "docs/tutorial.md", "docs/tutorial-mac.md", "docs/how-to/simulate.md")
)

PICTURES = {ROOT / "docs" / "images" / "diff.svg": "diff demo --pair 0:2"}
"""Each picture's file, and the command that it shows."""

# Rich's own loads its font from a network.
_SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
_COLUMNS = 80

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


def drawn(words: str) -> str:
    """A picture of what a command prints."""
    from rich.console import Console
    from rich.text import Text

    home = _home()
    said = _run(words, home, home, term="xterm-256color")
    lines = [line.rstrip() for line in said.splitlines()]
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=_COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text.assemble(("$ ", "dim"), f"cachediag {words}\n"))
        console.print(Text("\n").join(map(Text.from_ansi, lines)))
        made = console.export_svg(title="cachediag", code_format=_SVG, unique_id="cachediag")
    return "".join(f"{line.strip()}\n" for line in made.splitlines() if line.strip())


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


def _run(words: str, home: str, directory: str, term: str = "dumb") -> str:
    # A dumb terminal is one without colours.
    size = {"COLUMNS": str(_COLUMNS), "LINES": "40"}
    terminal = {"FORCE_COLOR": "1", "TERM": term, "PYTHONUTF8": "1", **size}
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
    for path, command in PICTURES.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn(command), encoding="utf-8")
