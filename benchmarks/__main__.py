"""Measure everything, print a table, write JSON; aims that are missed are told, not failed on."""

import argparse
import json
import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    analysis,
    arms,
    batch,
    encoder,
    growth,
    hostile,
    live,
    recorder,
    session_file,
    simulate,
    start_up,
    strip,
)
from benchmarks.figure import Figure

_GROUPS: dict[str, Callable[[], Iterable[Figure]]] = {
    "recorder": recorder.measure,
    "strip": strip.measure,
    "session-file": session_file.measure,
    "start-up": start_up.measure,
    "encoder": encoder.measure,
    "analysis": analysis.measure,
    "growth": growth.measure,
    "hostile": hostile.measure,
    "batch": batch.measure,
    "simulate": simulate.measure,
    "live": live.measure,
    "arms": arms.measure,
}
_ALL = "all"
# They take many minutes, and the last two install 400 MB.
_WHEN_NAMED = ("batch", "simulate", "live", "arms")


def main() -> None:
    """Run the groups that were asked for; by default all that need no network."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"any of: {', '.join(_GROUPS)}; or {_ALL}")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), metavar="FILE")
    given = parser.parse_args()
    if unknown := set(given.groups) - {*_GROUPS, _ALL}:
        parser.error(f"no such group: {', '.join(sorted(unknown))}")
    usual = [name for name in _GROUPS if name not in _WHEN_NAMED]
    names = list(_GROUPS) if _ALL in given.groups else given.groups or usual
    # With it every command would compile anew whatever the installer did not.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    figures: list[Figure] = []
    progress = Console(stderr=True)
    for name in names:
        progress.print(f"{name} …", style="dim")
        figures += _GROUPS[name]()
        # All of them take an hour: where a later one fails, what was measured stays.
        given.json.write_text(json.dumps(_document(figures), indent=2) + "\n", encoding="utf-8")
    console = Console()
    if not console.is_terminal:
        console.width = 100
    console.print(_table(figures))
    console.print(f"written to {given.json}", highlight=False)


def _document(figures: Iterable[Figure]) -> dict[str, object]:
    return {
        "schema": "cachediag.bench/1",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "figures": [figure.as_json() for figure in figures],
    }


def _table(figures: Iterable[Figure]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("group", "figure"):
        table.add_column(heading)
    for heading in ("measured", "aim"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for figure in figures:
        sign = "≤" if figure.better == "less" else "≥"
        aim = "" if figure.aim is None else f"{sign} {figure.aim:g} {figure.unit}"
        verdict = {None: "", True: "[green]met[/]", False: "[red]missed[/]"}[figure.met]
        measured = f"{figure.value:,.3g} {figure.unit}"
        table.add_row(figure.group, figure.name, measured, aim, verdict)
    return table


if __name__ == "__main__":
    main()
