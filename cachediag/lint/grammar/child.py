"""Compiling in a child process, which is ended where a grammar takes too long or too much memory.

```python
with Child("xgrammar", "qwen3") as child:
    child.compile(tag).outcome
```
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

from cachediag.errors import UsageError
from cachediag.extras import install
from cachediag.lint.grammar.engine import ENGINES
from cachediag.model import Json

__all__ = ["Child", "Limits", "Outcome", "Result"]

Outcome = Literal["compiled", "rejected", "too slow", "too large", "crashed"]
"""`rejected`: the engine refuses the grammar. `too slow`, `too large`: it was stopped at a limit.
`crashed`: the engine took its process with it."""

_WORKER: Final = "cachediag.lint.grammar.worker"
_LOAD_SECONDS: Final = 180.0
_STATM: Final = Path("/proc/self/statm").exists()
_PAUSE: Final = 0.02 if _STATM else 0.3
"""Seconds between two looks at the memory, for which elsewhere than on Linux a process is run."""
_QUIET: Final = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one grammar may take."""

    seconds: float = 20.0
    memory: int = 2 << 30
    """Bytes that the process may grow by."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a grammar. None is absent, which is not zero."""

    outcome: Outcome
    seconds: float | None = None
    """That compiling took; None unless it was compiled."""
    size: int | None = None
    """Bytes of what was compiled, as the engine counts them."""
    cache: int | None = None
    """Bytes that the compiler remembers afterwards."""
    warnings: tuple[str, ...] = ()
    message: str | None = None
    """Why it was not compiled."""
    fits: tuple[bool, ...] = ()
    """Whether each of the texts is accepted."""


class Child:
    """A process with an engine in it. It is started when needed, and anew after it was ended.

    Args:
        engine: a name of `ENGINES`.
        tokenizer: what `cachediag.tokens.tokenizers.tokenizer` takes.
        limits: of each grammar.
    """

    def __init__(self, engine: str, tokenizer: str, limits: Limits = Limits()) -> None:
        self.engine = engine
        self.limits = limits
        self.load_seconds = 0.0
        """That the engine and the tokenizer took to load, last time."""
        self._start = [ENGINES[engine], tokenizer]
        self._process: subprocess.Popen[bytes] | None = None
        self._base = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def compile(self, tag: Json, *, on: str | None = None, texts: Sequence[str] = ()) -> Result:
        """Compile a structural tag.

        Args:
            tag: as `cachediag.lint.structural_tag.emit` makes it.
            on: the name of a compiler that is kept, with what it remembers, until the process is
                ended; None for one of its own.
            texts: answers to hold against it.

        Raises:
            UsageError: the engine cannot be loaded.
        """
        process = self._running()
        task = {"tag": tag, "on": on, "texts": list(texts), "seconds": self.limits.seconds}
        try:
            line = json.dumps(task)
        except RecursionError:
            return Result("rejected", message="nested too deeply to be written")
        answer = self._ask(process, line, self.limits)
        if isinstance(answer, Result):
            self._end()
            return answer
        warnings = tuple(answer["warnings"])
        if "rejected" in answer:
            return Result("rejected", warnings=warnings, message=answer["rejected"])
        return Result(
            "compiled",
            seconds=answer["seconds"],
            size=answer["size"],
            cache=answer["cache"],
            warnings=warnings,
            fits=tuple(answer["fits"]),
        )

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is not None:
            return self._process
        begun = time.monotonic()
        self._process = process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", _WORKER],
            env=os.environ | _QUIET,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        loaded = self._ask(process, json.dumps(self._start), Limits(_LOAD_SECONDS, sys.maxsize))
        failed = loaded.outcome if isinstance(loaded, Result) else loaded.get("failed")
        if failed is not None:
            self._end()
            first = str(failed).splitlines()[0]
            raise UsageError(
                f"{self.engine} is installed and cannot be loaded: {first}",
                remedy=f"Install it with what it needs: {install('grammar')}.",
            )
        self.load_seconds = time.monotonic() - begun
        self._base = _memory(process.pid)
        return process

    def _ask(
        self, process: "subprocess.Popen[bytes]", line: str, limits: Limits
    ) -> dict[str, Any] | Result:
        """Send a line, and take the answer; a result where there is none within the limits."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return _crashed(process)
        deadline = time.monotonic() + limits.seconds
        taken = b""
        while True:
            ready, _, _ = select.select([process.stdout], [], [], _PAUSE)
            if ready:
                piece = os.read(process.stdout.fileno(), 1 << 20)
                if not piece:
                    return _crashed(process)
                taken += piece
                if taken.endswith(b"\n"):
                    answer: dict[str, Any] = json.loads(taken)
                    return answer
            elif _memory(process.pid) - self._base > limits.memory:
                return Result("too large", message=f"more than {limits.memory >> 20} MiB")
            elif time.monotonic() > deadline:
                return Result("too slow", message=f"not compiled within {limits.seconds:g} s")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()


def _crashed(process: "subprocess.Popen[bytes]") -> Result:
    code = process.wait()
    try:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        how = f"signal {-code}"
    return Result("crashed", message=f"the engine ended its process ({how})")


def _memory(pid: int) -> int:
    """Bytes that a process holds in memory; 0 where it is gone."""
    try:
        if _STATM:
            pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        command = ["ps", "-o", "rss=", "-p", str(pid)]
        told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return int(told.stdout) << 10
    except (OSError, ValueError, IndexError):
        return 0
