"""Running a server by a command of the user's, as long as it is needed."""

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from cachediag.backends.asking import get
from cachediag.backends.processes import end_group, last_line
from cachediag.capture.proxy import free_ports
from cachediag.errors import UpstreamError, UsageError

__all__ = ["PORT", "interpreter", "serving"]

PORT = "{port}"
"""What stands in a command for the port."""

# A large model is read from a disk.
_START_SECONDS = 900.0
_END_SECONDS = 15.0


def interpreter(command: str) -> Path | None:
    """The Python that a command is run by: itself, or what its first line names.

    Args:
        command: the first word.

    Returns:
        None where it is not there, or is run by something else.
    """
    found = shutil.which(command)
    if found is None:
        return None
    if Path(found).name.startswith("python"):
        return Path(found)
    with Path(found).open("rb") as file:
        mark, _, named = file.readline().decode("utf-8", "replace").strip().partition("!")
    is_python = mark == "#" and Path(named).name.startswith("python") and Path(named).is_file()
    return Path(named) if is_python else None


@contextmanager
def serving(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    *,
    start_seconds: float = _START_SECONDS,
) -> Iterator[str]:
    """Start a server, wait until it answers, and end it with all that it started.

    Args:
        command: its words, with `{port}` in one of them.
        environment: all of its variables.
        log: where what it says is written.
        start_seconds: how long it may take to answer.

    Yields:
        Its base URL.

    Raises:
        UsageError: there is no such command.
        UpstreamError: it ends, or does not answer in time.
    """
    (port,) = free_ports("127.0.0.1", 1)
    words = [word.replace(PORT, str(port)) for word in command]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, no shell
                words,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise UsageError(
            f"cannot be run ({error.strerror})",
            where=words[0],
            remedy="Write it as in a shell: --serve-cmd 'vllm-mlx serve MODEL --port {port}'",
        ) from error
    try:
        url = f"http://127.0.0.1:{port}"
        _await(process, url, log, start_seconds)
        yield url
    finally:
        end_group(process, _END_SECONDS)


def _await(process: "subprocess.Popen[bytes]", url: str, log: Path, start_seconds: float) -> None:
    deadline = time.monotonic() + start_seconds
    while process.poll() is None and time.monotonic() < deadline:
        if any(_is_ready(url, path) for path in ("/health", "/v1/models")):
            return
        time.sleep(0.2)
    said = last_line(log) or "nothing"
    what = "ended" if process.poll() is not None else "does not answer"
    raise UpstreamError(
        f"the server {what}; the last that it said: {said}",
        where=str(process.args[0]) if isinstance(process.args, list) else None,
        remedy="Run the command by itself to see what is wrong.",
    )


def _is_ready(url: str, path: str) -> bool:
    answer = get(url, path)
    return answer is not None and answer.status == 200
