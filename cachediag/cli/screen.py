"""What is said on stderr by a command that runs a client."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, NoReturn

import typer

from cachediag.cli.console import err, in_one_line
from cachediag.report.safe import printable

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable, RenderableType

__all__ = ["Screen"]


_STALLED_SECONDS = 1.0


class Screen:
    """What is said on stderr, held back while the terminal is the client's.

    It is printed on a thread of its own: a terminal stopped by Ctrl-S, or a pipe that nobody reads,
    holds up neither traffic nor storing.
    """

    def __init__(self) -> None:
        from cachediag.report.style import symbols

        self.arrow = symbols(err()).arrow
        self._waiting: list[str | ConsoleRenderable] | None = None
        # Requests are told of on the writer's thread, and may be just as the client ends.
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._done = 0
        self._stalled_at = -1
        threading.Thread(target=self._work, name="cachediag-screen", daemon=True).start()

    def say(self, *lines: "str | ConsoleRenderable") -> None:
        """Print lines, or keep them for later; a renderable has been made safe already.

        On the main thread it returns when they are printed, unless the terminal has stalled.
        """
        with self._lock:
            for line in lines:
                safe = printable(line) if isinstance(line, str) else line
                if self._waiting is not None:
                    self._waiting.append(safe)
                else:
                    self._jobs.put(partial(_print, safe))
        if threading.current_thread() is threading.main_thread():
            self._settle()

    def hold(self, *, held: bool) -> None:
        """Begin or cease to keep lines for later."""
        with self._lock:
            for line in self._waiting or ():
                self._jobs.put(partial(_print, line))
            self._waiting = [] if held else None
        self._settle()

    def leave(self, code: int) -> NoReturn:
        """End the program once everything is printed, or at once where the terminal has stalled."""
        self._stalled_at = -1
        if not self._settle():
            # The interpreter would wait for the thread that prints, and then abort.
            os._exit(code)
        raise typer.Exit(code)

    def warn(self, message: str) -> None:
        """Tell of something that does not stop the traffic."""
        self.say(f"cachediag: {message}")

    @contextmanager
    def status(self, line: "Callable[[], RenderableType] | None") -> Iterator[None]:
        """Keep a line up to date below all others as long as the block lasts; on a terminal only.

        Args:
            line: gives it as it should be now; called from another thread.
        """
        if line is None or not err().is_terminal:
            yield
            return
        from rich.live import Live

        live = Live(
            console=err(),
            get_renderable=line,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        # Both write to the terminal, which may have stalled, or be gone.
        self._do(live.start)
        try:
            yield
        finally:
            self._do(live.stop)

    def _do(self, job: "Callable[[], object]") -> None:
        def done() -> None:
            with suppress(OSError, SystemExit):
                job()

        self._jobs.put(done)
        self._settle()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            with suppress(Exception):
                job()
            self._done += 1

    def _settle(self) -> bool:
        """Wait until what has been said is printed; False where nothing moves any more."""
        printed = threading.Event()
        self._jobs.put(printed.set)
        while self._done != self._stalled_at:
            before = self._done
            if printed.wait(_STALLED_SECONDS):
                return True
            if self._done == before:
                self._stalled_at = before
        return printed.is_set()


def _print(line: "str | ConsoleRenderable") -> None:
    from rich.text import Text

    try:
        if isinstance(line, str):
            err().print(line, soft_wrap=True)
        else:
            err().print(in_one_line(line) if isinstance(line, Text) else line)
    except (OSError, SystemExit):
        # Nobody reads any more, for which rich would exit; the client is to go on. What is still
        # buffered must have a place to go as well, or the interpreter ends with an exit code of its
        # own.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stderr.fileno())
        os.close(null)
