"""Run each tool over the cases within its claim, print a table, write JSON."""

import argparse
import json
import platform
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from rich.console import Console

from peers.case import Case, bare, load
from peers.environment import FailedError, install, run
from peers.score import Asked, Judged, Score, asked, judge, score
from peers.table import rows, table
from peers.tool import Tool
from peers.tools import TOOLS

_TIMED = "v02-date-in-the-context"
"""A case that every tool claims to see."""
_ROUNDS = 5


def main() -> int:
    """Run those that are named, or all; 1 where one could not be installed, or failed on a case."""
    parser = argparse.ArgumentParser(prog="python -m peers", description=__doc__)
    parser.add_argument("tools", nargs="*", help=f"any of: {', '.join(t.name for t in TOOLS)}")
    parser.add_argument("--json", type=Path, default=Path("peers.json"), metavar="FILE")
    given = parser.parse_args()
    if unknown := set(given.tools) - {tool.name for tool in TOOLS}:
        parser.error(f"no such tool: {', '.join(sorted(unknown))}")
    wanted = [tool for tool in TOOLS if not given.tools or tool.name in given.tools]
    with TemporaryDirectory(prefix="peers-") as place:
        outcome = _run(wanted, Path(place))
    given.json.write_text(json.dumps(outcome.as_json(), indent=2) + "\n", encoding="utf-8")
    console = Console()
    if not console.is_terminal:
        console.width = 140
    if outcome.scores:
        console.print(table(rows(outcome.scores, outcome.times)))
    for line in outcome.failures:
        print(line, file=sys.stderr)
    console.print(f"written to {given.json}", highlight=False)
    return 1 if outcome.failures else 0


@dataclass(slots=True)
class _Outcome:
    scores: list[Score] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """Of each tool, in the same order: seconds for the same case, taking turns."""
    failures: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        return {
            "schema": "cachediag.peers/1",
            "python": platform.python_version(),
            "tools": [
                each.as_json() | {"case_s": round(time, 3)}
                for each, time in zip(self.scores, self.times, strict=True)
            ],
            "failures": self.failures,
        }


def _run(tools: list[Tool], place: Path) -> _Outcome:
    cases, outcome, installed = load(), _Outcome(), dict[str, Path]()
    for tool in tools:
        print(f"{tool.name} {tool.version} …", file=sys.stderr)
        own = place / tool.name
        own.mkdir()
        try:
            installed[tool.name] = install(tool, own / "environment")
        except FailedError as error:
            outcome.failures.append(f"{tool.name} is not installed: {error}")
            continue
        outcome.scores.append(_scored(tool, cases, installed[tool.name], outcome.failures))
    (case,) = (case for case in cases if case.name == _TIMED)
    left = [each.tool for each in outcome.scores]
    outcome.times = _times(left, case, installed, place)
    return outcome


def _scored(tool: Tool, cases: list[Case], python: Path, failures: list[str]) -> Score:
    judged = list[Judged]()
    for question in asked(tool, cases):
        folder = python.parents[2] / question.case.name
        try:
            made = _judged(tool, question, python, folder)
            if question.quiet and not tool.markers:
                without = folder.with_name(f"{folder.name}-bare")
                without.mkdir()
                unmarked = replace(question, case=bare(question.case, without))
                again = _judged(tool, unmarked, python, without / "run")
                made = replace(made, bare_alarm=again.false_alarm)
        except (FailedError, ValueError, KeyError) as error:
            failures.append(f"{tool.name}, {question.case.name}: {error!r}")
            continue
        judged.append(made)
    return score(tool, judged)


def _times(tools: list[Tool], case: Case, pythons: dict[str, Path], place: Path) -> list[float]:
    """The median time of each tool for one case; they take turns, for a machine has moods."""
    times: dict[str, list[float]] = {tool.name: [] for tool in tools}
    for turn in range(_ROUNDS):
        for tool in tools:
            folder = place / tool.name / f"timed-{turn}"
            folder.mkdir()
            ran = run(pythons[tool.name], tool.command(case, folder), folder)
            times[tool.name].append(ran.seconds)
    return [median(each) for each in times.values()]


def _judged(tool: Tool, question: Asked, python: Path, folder: Path) -> Judged:
    folder.mkdir()
    ran = run(python, tool.command(question.case, folder), folder)
    return judge(tool, question, tool.read(question.case, ran.output), ran.seconds)


if __name__ == "__main__":
    sys.exit(main())
