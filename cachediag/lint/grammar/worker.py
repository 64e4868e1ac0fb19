"""The child process: an engine with a tokenizer, which compiles what it is sent, one at a time.

It reads a line of JSON from its standard input for each task, and answers with one. Whatever an
engine prints is kept apart. See `child` for the other side.
"""

import importlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from typing import IO, Any

from cachediag.lint.grammar.engine import Compiler, Engine, Rejected, lines
from cachediag.tokens.tokenizers import tokenizer

__all__ = ["main"]

_TRIVIAL = {
    "type": "structural_tag",
    "format": {"type": "json_schema", "json_schema": {"type": "boolean"}},
}


def main() -> None:
    """Serve until the standard input ends."""
    answers, said = _apart()
    load, spec = json.loads(sys.stdin.readline())
    try:
        engine: Engine = importlib.import_module(load).load(tokenizer(spec))
        # What every process pays once is not the first grammar's.
        engine.compiler().compile(engine.prepare(_TRIVIAL))
    except Exception as error:  # noqa: BLE001 - a package may fail to load in any way
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"}), file=answers, flush=True)
        return
    compilers: dict[str, Compiler] = {}
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        answer = _done(json.loads(line), engine, compilers, said)
        print(json.dumps(answer), file=answers, flush=True)


def _apart() -> tuple[IO[str], Callable[[], str]]:
    """Where answers go, and what has been printed since it was asked last."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    printed = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)

    def said() -> str:
        # Read by its place: the file's own is where the engine writes on.
        size = os.fstat(printed.fileno()).st_size
        text = os.pread(printed.fileno(), size, 0).decode("utf-8", "replace")
        os.ftruncate(printed.fileno(), 0)
        os.lseek(printed.fileno(), 0, os.SEEK_SET)
        return text

    return answers, said


def _done(
    task: dict[str, Any], engine: Engine, compilers: dict[str, Compiler], said: Callable[[], str]
) -> dict[str, Any]:
    _bounded(task["seconds"])
    prepared = engine.prepare(task["tag"])
    name = task["on"]
    compiler = compilers.get(name) or engine.compiler()
    if name:
        compilers[name] = compiler
    said()
    begun = time.perf_counter()
    try:
        compiled = compiler.compile(prepared)
    except Rejected as error:
        return {"rejected": str(error), "warnings": lines(said())}
    seconds = time.perf_counter() - begun
    return {
        "seconds": seconds,
        "size": compiled.size,
        "cache": compiler.cache_size(),
        "warnings": (*compiled.warnings, *lines(said())),
        "fits": [compiled.fits(text) for text in task["texts"]],
    }


def _bounded(seconds: float) -> None:
    """Have the system end this process where nobody is there to do it any more."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    most = int(spent + (seconds + 10) * (os.cpu_count() or 1))
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


if __name__ == "__main__":
    main()
