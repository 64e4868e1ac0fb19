"""Installing: the environment that all releases share, and each release in a directory of its own.

It is done by `uv` where it is installed, which takes a tenth of the time, and else by `pip`.
"""

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from cachediag.backends.sandbox.engines import MLX_LM, Engine, checked, requirements
from cachediag.backends.sandbox.place import Sandbox, kept
from cachediag.errors import CachediagError, UpstreamError

__all__ = ["copy_of", "environment", "python", "release_place", "site", "uv"]

_NEEDED_BYTES: Final = 1_000_000_000
"""Room that installing takes, archives included."""
_TIMEOUT: Final = 1800
_LOG = "install.log"


def environment(sandbox: Sandbox) -> Path:
    """Where the environment stands, or will; another set of requirements has another place.

    Raises:
        UsageError: MLX does not run on this machine.
    """
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = sha256("\n".join((version, *requirements())).encode()).hexdigest()
    return sandbox.root / f"environment-{digest[:10]}"


def python(sandbox: Sandbox) -> Path:
    """The environment's interpreter; the environment is made where there is none.

    Raises:
        UsageError: MLX does not run on this machine.
        UpstreamError: it cannot be installed.
    """
    needed = requirements()

    def make(place: Path) -> None:
        sandbox.tell("installing mlx, mlx-lm and what the server needs, once, 400 MB")
        _check_room(sandbox)
        command = uv()
        if command:
            # With pip, for a later time when uv is not here.
            _run(sandbox, (command, "venv", "--seed", "--python", sys.executable, place))
        else:
            _run(sandbox, (sys.executable, "-m", "venv", place))
        _install(sandbox, place / "bin" / "python", needed)

    return kept(sandbox, environment(sandbox), make) / "bin" / "python"


def release_place(sandbox: Sandbox, engine: Engine, release: str) -> Path:
    """Where a release stands, or will."""
    return sandbox.root / "releases" / f"{engine}-{checked(engine, release)}"


def site(sandbox: Sandbox, engine: Engine, release: str) -> Path:
    """A directory to put before the environment's own packages, which holds this release alone.

    It is shared by all who use the sandbox: change a copy, see `copy_of`. For the release of mlx-lm
    that the environment holds it is empty.

    Raises:
        UsageError: MLX does not run on this machine, or the release is none.
        UpstreamError: it cannot be installed.
    """
    place = release_place(sandbox, engine, release)
    interpreter = python(sandbox)

    def make(made: Path) -> None:
        made.mkdir()
        if (engine, release) == ("mlx-lm", MLX_LM):
            return
        sandbox.tell(f"installing {engine} {release}")
        _install(sandbox, interpreter, (f"{engine}=={release}",), "--no-deps", "--target", made)

    return kept(sandbox, place, make)


def copy_of(sandbox: Sandbox, engine: Engine, release: str, into: Path) -> Path:
    """Copy a release, to be changed and then run.

    Args:
        sandbox: holds the release, which is installed where it is not there.
        engine: `vllm-mlx` or `mlx-lm`.
        release: its release.
        into: the directory to make; it must not exist, and is the caller's to remove.

    Returns:
        `into`: what `running` takes as `site`, and `fix patch` as `--site`.

    Raises:
        UsageError: MLX does not run on this machine, or the release is none.
        UpstreamError: the release cannot be installed.
    """
    source = site(sandbox, engine, release)
    shutil.copytree(source, into, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return into


def uv() -> str | None:
    """The command of `uv`: the one beside this interpreter, or one on the path."""
    try:
        found: str = importlib.import_module("uv").find_uv_bin()
    except (ImportError, OSError):
        return shutil.which("uv")
    return found


def _install(sandbox: Sandbox, python: Path, what: Sequence[str], *options: str | Path) -> None:
    command = uv()
    if command:
        _run(sandbox, (command, "pip", "install", "--python", python, *options, *what))
    else:
        pip = (python, "-m", "pip", "install", "--disable-pip-version-check")
        _run(sandbox, (*pip, *options, *what))


def _run(sandbox: Sandbox, command: Sequence[str | Path]) -> None:
    """Run a command of the installer, what it says going to the log.

    Raises:
        UpstreamError: it fails.
    """
    log = sandbox.root / _LOG
    words = [str(word) for word in command]
    with log.open("wb") as output:
        output.write(f"$ {' '.join(words)}\n".encode())
        output.flush()
        try:
            done = subprocess.run(  # noqa: S603 - no shell
                words,
                env=_environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(words, str(error), log) from error
    if done.returncode:
        raise _failed(words, _told(log), log)


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, which names mirrors and certificates, without its own packages."""
    own = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER")
    return {name: value for name, value in given.items() if name not in own}


def _told(log: Path) -> str:
    """The line that says why, out of what the installer said."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    lines = [line.strip() for line in lines if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "cause", "╰─▶"))]
    return (errors or lines or ["it said nothing"])[-1][:200]


def _failed(words: Sequence[str], told: str, log: Path) -> UpstreamError:
    what = "the sandbox cannot be installed"
    if "venv" in words:
        remedy = "Install Python's venv module (apt install python3-venv), or uv."
    else:
        remedy = f"The installer needs the network once. The whole of what it said: {log}"
    return UpstreamError(f"{what}: {told}", remedy=remedy)


def _check_room(sandbox: Sandbox) -> None:
    free = shutil.disk_usage(sandbox.root).free
    if free < _NEEDED_BYTES:
        raise CachediagError(
            f"{free // 1_000_000} MB are free, and the sandbox needs {_NEEDED_BYTES // 1_000_000}",
            where=str(sandbox.root),
            remedy="Make room, or set CACHEDIAG_HOME to a directory on another disk.",
        )
