"""How long a command takes from the shell, against an interpreter that does nothing."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.material import Agent, dumps

__all__ = ["measure"]

_GROUP = "start-up"
_SIZE = 400_000
_ROUNDS = 15
_AIMS = {"--help": 0.4, "diff, a text changed": 0.8, "diff, a tool's schema changed": 0.8}
_DEMO = 15.0


def measure() -> Iterator[Figure]:
    """Run each command a number of times, in turn, and take the medians."""
    with tempfile.TemporaryDirectory() as directory:
        taken = _run(_commands(Path(directory)), _ROUNDS, home=directory)
        demo = _run({"demo": [*_cachediag(), "demo"]}, 1, home=directory)["demo"]
    nothing = taken.pop("python -c pass")
    yield Figure(group=_GROUP, name="python -c pass", value=nothing, unit="s")
    for name, seconds in taken.items():
        command = f"cachediag {name}"
        yield Figure(group=_GROUP, name=command, value=seconds, unit="s", aim=_AIMS[name])
        yield Figure(
            group=_GROUP, name=f"{command} / python -c pass", value=seconds / nothing, unit="×"
        )
    yield Figure(group=_GROUP, name="cachediag demo", value=demo, unit="s", aim=_DEMO)


def _commands(directory: Path) -> Mapping[str, list[str]]:
    text, schema = _pairs(directory)
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "--help": [*_cachediag(), "--help"],
        "diff, a text changed": [*_cachediag(), "diff", *text],
        "diff, a tool's schema changed": [*_cachediag(), "diff", *schema],
    }


def _cachediag() -> list[str]:
    script = Path(sys.executable).with_name("cachediag")
    return [str(script)] if script.exists() else [sys.executable, "-m", "cachediag"]


def _pairs(directory: Path) -> tuple[list[str], list[str]]:
    """The files of two pairs: a text changed, and a tool's schema changed."""
    agent = Agent(seed=11)
    while len(dumps(agent.body())) < _SIZE:
        agent.turn(4_000)
    a = agent.body()
    text, schema = deepcopy(a), deepcopy(a)
    text["system"][2]["text"] = text["system"][2]["text"].replace(".\n", "!\n", 3)
    properties = schema["tools"][3]["input_schema"]["properties"]
    next(iter(properties.values()))["type"] = "number"
    files = {"a.json": a, "text.json": text, "schema.json": schema}
    for name, body in files.items():
        (directory / name).write_bytes(dumps(body))
    first, second, third = (str(directory / name) for name in files)
    return [first, second], [first, third]


def _run(commands: Mapping[str, list[str]], rounds: int, home: str) -> dict[str, float]:
    environ = {**os.environ, "CACHEDIAG_HOME": home}
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environ)
            # The first round fills the caches of the disk and of compiled modules.
            if number:
                taken[name].append(time.perf_counter() - begun)
    return {name: statistics.median(values) for name, values in taken.items()}
