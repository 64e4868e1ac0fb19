"""What releases of real servers make of requests, by `rendering_oracle.py`."""

import base64
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from cachediag.backends.sandbox import Engine
from tests.live import clients
from tests.live.engines_packages import engines_python, package

__all__ = ["Answer", "Case", "Run", "answers"]

_ORACLE = Path(__file__).with_name("rendering_oracle.py")


class Case(NamedTuple):
    """A request: what it is called, where it goes, and its body."""

    name: str
    path: str
    body: bytes


class Run(NamedTuple):
    """A model's directory, and the tool parser that the server runs with; None for none."""

    model: Path
    parser: str | None


class Answer(NamedTuple):
    """What the tokenizer of a run is given for a case; no prompt where the server refuses it."""

    run: Run
    case: Case
    prompt: str | None
    tokens: int
    ids: str
    """SHA-256 of the token ids as 32-bit integers."""
    said: str


def answers(
    engine: Engine, release: str, runs: Sequence[Run], cases: Sequence[Case]
) -> list[Answer]:
    """Ask a release of `vllm-mlx` or `mlx-lm`."""
    question = {
        "cases": [[case.path, base64.b64encode(case.body).decode()] for case in cases],
        "runs": [[str(run.model), run.parser] for run in runs],
    }
    with tempfile.TemporaryDirectory() as home:
        env = clients.environment(Path(home)) | {"PYTHONPATH": str(package(engine, release))}
        asked, answered = Path(home, "question"), Path(home, "answers")
        asked.write_text(json.dumps(question), encoding="utf-8")
        words = [str(engines_python()), str(_ORACLE), engine, str(asked), str(answered)]
        done = clients.run(words, env=env, cwd=Path(home), timeout=300)
        if done.code != 0:
            pytest.fail(f"{engine} {release} was not asked:\n{done.stderr[-2000:]}")
        return list(_read(answered, runs, cases))


def _read(place: Path, runs: Sequence[Run], cases: Sequence[Case]) -> Iterator[Answer]:
    with place.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            yield Answer(
                runs[line["run"]],
                cases[line["case"]],
                line.get("prompt"),
                line.get("tokens", 0),
                line.get("ids", ""),
                line.get("said", ""),
            )
