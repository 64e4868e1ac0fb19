"""Real clients: installed once and kept, run in a clean environment, recorded through cachediag.

They are installed under `$CACHEDIAG_LIVE_CACHE`, or else in the user's cache directory. What they
would tell their vendors is turned off, and cannot leave the machine: the proxy that their
environment names is a closed port.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pytest

__all__ = [
    "KEY",
    "Finished",
    "cachediag",
    "claude_code",
    "environment",
    "qwen_code",
    "record",
    "run",
]

KEY = "sk-ant-live-test-5d41402abc4b2a76"
"""The clients' credential: made up, and never to be found in a recording."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that came to its end."""

    code: int
    stdout: bytes
    stderr: str


def claude_code(version: str) -> Path:
    """The `claude` command of this version."""
    return _npm_command("@anthropic-ai/claude-code", version, "claude")


def qwen_code() -> Path:
    """The `qwen` command: small, all JavaScript, and at home with an OpenAI base URL."""
    return _npm_command("@qwen-code/qwen-code", "0.15.10", "qwen")


def environment(home: Path, **more: str) -> dict[str, str]:
    """A clean environment with `home` as the home directory, and `more` variables.

    What the process that runs the tests has set reaches no client, but for the place of Node.js
    and of the package under test.
    """
    node = Path(_tool("node")).parent
    kept = {"PYTHONPATH": path} if (path := os.environ.get("PYTHONPATH")) else {}
    return {
        "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
        "ANTHROPIC_API_KEY": KEY,
        "OPENAI_API_KEY": KEY,
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        **kept,
        **more,
    }


def run(
    command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path, timeout: float = 120
) -> Finished:
    """Run a command to its end, and fail the test if it takes more than `timeout` seconds."""
    words = [str(word) for word in command]
    with subprocess.Popen(
        words,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            # The whole group: a recorder's client would go on without it.
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
            said = (stdout + stderr).decode(errors="replace")[-2000:]
            pytest.fail(f"{words} did not end within {timeout} s; it said:\n{said}")
    return Finished(process.returncode, stdout, stderr.decode(errors="replace"))


def cachediag(
    *words: str | Path, env: Mapping[str, str], cwd: Path, timeout: float = 120
) -> Finished:
    """Run a cachediag command."""
    return run([sys.executable, "-m", "cachediag", *words], env=env, cwd=cwd, timeout=timeout)


def record(
    command: Sequence[str | Path],
    session: Path,
    *options: str,
    env: Mapping[str, str],
    cwd: Path,
) -> Finished:
    """Run a client under `cachediag record`."""
    return cachediag("record", *options, "-o", session, "--", *command, env=env, cwd=cwd)


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not on PATH: the live tests need Node.js 20 or newer, with npm")
    return found


def _npm_command(package: str, version: str, name: str, ask: str = "--version") -> Path:
    """Install `package` in a directory of its own, unless it is there, and return its command."""
    prefix = _cache() / f"{package.rpartition('/')[2]}-{version}"
    command = prefix / "node_modules" / ".bin" / name
    if not prefix.exists():
        _npm_install(f"{package}@{version}", prefix)
    with tempfile.TemporaryDirectory() as home:
        said = run([command, ask], env=environment(Path(home)), cwd=prefix)
    if version not in said.stdout.decode():
        pytest.fail(f"{command} is not version {version}; remove {prefix} and try again\n{said}")
    return command


def _npm_install(what: str, prefix: Path) -> None:
    # Installed beside its place and then moved there: what is in place is complete.
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=prefix.parent) as staging:
        place = Path(staging, "prefix")
        options = ["--no-audit", "--no-fund", "--ignore-scripts=false", "--prefix", str(place)]
        install = [_tool("npm"), "install", *options, what]
        said = run(install, env=os.environ, cwd=Path(staging), timeout=300)
        if said.code != 0:
            pytest.fail(f"npm cannot install {what}:\n{said.stderr[-2000:]}")
        place.rename(prefix)


def _cache() -> Path:
    chosen = os.environ.get("CACHEDIAG_LIVE_CACHE")
    return Path(chosen) if chosen else platformdirs.user_cache_path("cachediag") / "live"
