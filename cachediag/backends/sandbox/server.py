"""Running a server of the sandbox, on a free port of the loopback interface, and ending it."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cachediag.backends.asking import get
from cachediag.backends.processes import end_group, last_line
from cachediag.backends.sandbox.engines import Engine, checked
from cachediag.backends.sandbox.install import python, site
from cachediag.backends.sandbox.model import Kind, model
from cachediag.backends.sandbox.place import Sandbox
from cachediag.capture.proxy import free_ports
from cachediag.errors import UpstreamError

__all__ = ["Running", "running"]

_START_SECONDS: Final = 120.0
_END_SECONDS: Final = 5.0
_LAUNCHER = Path(__file__).with_name("launcher.py")
_FAILED = "failed.log"


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs."""

    base_url: str
    """`http://127.0.0.1:PORT`, without a path."""
    model: str
    """The name that requests give its model."""
    engine: Engine
    release: str
    site: Path
    """The directory that the engine's release was imported from."""
    log: Path
    """What it says; it grows while it runs, and is gone with `home` afterwards."""
    home: Path
    pid: int
    """Of the process, which leads a group of its own."""


@contextmanager
def running(
    sandbox: Sandbox,
    engine: Engine,
    release: str,
    *,
    site_dir: Path | None = None,
    kind: Kind = "qwen2",
    served_as: str = "sandbox",
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> Iterator[Running]:
    """Run a server as long as the block lasts.

    It has a home of its own and none of the caller's environment. Whatever ends the block, or this
    process, ends the server.

    Args:
        sandbox: holds what is needed; what is not there is installed first.
        engine: `vllm-mlx` or `mlx-lm`.
        release: its release.
        site_dir: run the engine from here, as from `copy_of`, and not as it was released.
        kind: the model.
        served_as: the name that vllm-mlx serves its model by; `Running.model` says what requests
            must name.
        options: further words of the server's command line.
        environment: further variables.
        home: an empty directory for its home and its log, which stays; by default one in the
            sandbox, which does not.

    Raises:
        UsageError: MLX does not run on this machine, or the release is none.
        UpstreamError: something cannot be installed, or the server does not start.
    """
    interpreter = python(sandbox)
    package = site(sandbox, engine, checked(engine, release)) if site_dir is None else site_dir
    weights = model(sandbox, kind)
    words, name = _words(engine, release, weights, served_as)
    with _home(sandbox, home) as own:
        (port,) = free_ports("127.0.0.1", 1)
        log = own / "server.log"
        command = [str(interpreter), str(_LAUNCHER), engine, *words, "--host", "127.0.0.1"]
        sandbox.tell(f"starting {engine} {release}")
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - no shell
                [*command, "--port", str(port), *options],
                env=_environment(own, package) | dict(environment or {}),
                cwd=own,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            url = f"http://127.0.0.1:{port}"
            _await(sandbox, process, url, log, f"{engine} {release}")
            yield Running(url, name, engine, release, package, log, own, process.pid)
        finally:
            end_group(process, _END_SECONDS)
            if process.stdin is not None:
                process.stdin.close()


def _words(engine: Engine, release: str, weights: Path, served_as: str) -> tuple[list[str], str]:
    """The server's command line, and the name that requests give the model."""
    if engine == "mlx-lm":
        return ["--model", str(weights)], "default_model"
    if release.startswith(("0.0.", "0.1.", "0.2.")) and _numbers(release) < (0, 2, 7):
        # It has no option for the name, and takes any.
        return [str(weights)], served_as
    return [str(weights), "--served-model-name", served_as], served_as


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3] if part.isdecimal())


@contextmanager
def _home(sandbox: Sandbox, given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    runs = sandbox.root / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="run-", dir=runs))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _environment(home: Path, package: Path) -> dict[str, str]:
    """All that the server's environment holds: nothing reaches the network, or the user's files."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
        "PYTHONUNBUFFERED": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONPATH": str(package),
    }


def _await(
    sandbox: Sandbox, process: "subprocess.Popen[bytes]", url: str, log: Path, name: str
) -> None:
    """Wait until the server answers.

    Raises:
        UpstreamError: it ends, or it does not answer in time.
    """
    started = time.monotonic()
    told = 0
    while process.poll() is None:
        answer = get(url, "/health", timeout=5)
        if answer is not None and answer.status == 200:
            return
        waited = time.monotonic() - started
        if waited > _START_SECONDS:
            break
        if int(waited) > told:
            told = int(waited)
            sandbox.tell(f"waiting for {name}, {told} s")
        time.sleep(0.1)
    kept = sandbox.root / _FAILED
    shutil.copyfile(log, kept)
    said = last_line(log) or "it said nothing"
    what = (
        "ended" if process.poll() is not None else f"did not answer within {_START_SECONDS:.0f} s"
    )
    raise UpstreamError(
        f"{name} {what} when it was to start: {said}",
        remedy=f"The whole of what it said: {kept}",
    )
