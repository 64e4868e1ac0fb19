"""What is said on stderr by a command that runs a client."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from cachediag.cli.console import err
from cachediag.report.safe import printable

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable, RenderableType

__all__ = ["Screen"]


class Screen:
    """What is said on stderr, held back while the terminal is the client's."""

    def __init__(self) -> None:
        from cachediag.report.style import symbols

        self.arrow = symbols(err()).arrow
        self._waiting: list[str | ConsoleRenderable] | None = None
        # Requests are told of on the writer's thread, and may be just as the client ends.
        self._lock = threading.RLock()

    def say(self, *lines: "str | ConsoleRenderable") -> None:
        """Print lines, or keep them for later; a renderable has been made safe already."""
        with self._lock:
            for line in lines:
                safe = printable(line) if isinstance(line, str) else line
                if self._waiting is not None:
                    self._waiting.append(safe)
                else:
                    _print(safe)

    def hold(self, *, held: bool) -> None:
        """Begin or cease to keep lines for later."""
        with self._lock:
            waiting, self._waiting = self._waiting, [] if held else None
            self.say(*(waiting or ()))

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
        live.start()
        try:
            yield
        finally:
            # The terminal may be gone.
            with suppress(OSError, SystemExit):
                live.stop()


def _print(line: "str | ConsoleRenderable") -> None:
    try:
        err().print(line, soft_wrap=isinstance(line, str))
    except (OSError, SystemExit):
        # Nobody reads any more, for which rich would exit; the client is to go on. What is still
        # buffered must have a place to go as well, or the interpreter ends with an exit code of its
        # own.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stderr.fileno())
        os.close(null)
