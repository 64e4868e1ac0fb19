"""The programs that exported scripts are for: installed once and kept, run on free ports.

Each stands in an environment of its own, in which cachediag cannot be imported, and has a home of
its own.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cachediag.capture.proxy import free_ports
from tests.live import clients

__all__ = ["KEY", "Carrier", "asgi_server", "claude_code_router", "litellm_proxy", "mitmdump"]

KEY = "sk-made-up-0123456789abcdef0123456789abcdef"
"""What LiteLLM is asked with. It is nobody's."""

Words = list[str | Path]

_CCR = "2.0.0"
_LITELLM = "1.108.7"
_START = 120.0
_APP = Path(__file__).with_name("exports_app.py")


@dataclass(frozen=True, slots=True)
class Carrier:
    """A program that is running with an exported script."""

    url: str
    log: Path

    def post(self, path: str, body: bytes) -> list[tuple[float, bytes]]:
        """Send a request; the lines of the answer, each with the time at which it came."""
        headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        request = urllib.request.Request(self.url + path, body, headers)
        try:
            with _direct.open(request, timeout=60) as response:
                return [(time.monotonic(), line) for line in response]
        except urllib.error.HTTPError as error:
            pytest.fail(
                f"{path}: HTTP {error.code}: {error.read()!r:.500}\n{self.logged()[-2000:]}"
            )

    def logged(self) -> str:
        """What the program said."""
        return self.log.read_text(encoding="utf-8", errors="replace")


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@contextmanager
def claude_code_router(home: Path, script: Path, upstream: str) -> Iterator[Carrier]:
    """Claude Code Router, with a provider that takes what Claude Code sends."""
    ccr = clients._npm_command("@musistudio/claude-code-router", _CCR, "ccr", ask="-v")
    (port,) = free_ports("127.0.0.1", 1)
    provider = {
        "name": "local",
        "api_base_url": f"{upstream}/v1/messages",
        "api_key": KEY,
        "models": ["made-up"],
        # Alone, it hands the request on as it came.
        "transformer": {"use": ["Anthropic"]},
    }
    config = {
        "HOST": "127.0.0.1",
        "PORT": port,
        "LOG": False,
        "CUSTOM_ROUTER_PATH": str(script),
        "Providers": [provider],
        "Router": {"default": "local,made-up"},
    }
    place = home / ".claude-code-router"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(config))
    with _running([ccr, "start"], home, port, "/health") as carrier:
        yield carrier


@contextmanager
def litellm_proxy(home: Path, script: Path, upstream: str) -> Iterator[Carrier]:
    """LiteLLM's proxy, with a model for each protocol and the pass-through to Anthropic."""
    python = _environment(f"litellm-{_LITELLM}", f"litellm[proxy]=={_LITELLM}")
    (port,) = free_ports("127.0.0.1", 1)
    config = {
        "model_list": [
            {
                "model_name": "claude-*",
                "litellm_params": {"model": "anthropic/claude-*", "api_base": upstream},
            },
            {
                "model_name": "*",
                "litellm_params": {"model": "openai/*", "api_base": f"{upstream}/v1"},
            },
        ],
        "litellm_settings": {"callbacks": f"{script.stem}.cachediag_rules"},
        "general_settings": {"master_key": KEY},
    }
    place = script.with_name("config.yaml")
    # JSON is YAML.
    place.write_text(json.dumps(config))
    start = "import sys; from litellm import run_server; sys.exit(run_server())"
    words: Words = [
        python,
        "-c",
        start,
        "--config",
        place,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    more = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "ANTHROPIC_API_BASE": upstream}
    with _running(words, home, port, "/health/liveliness", **more) as carrier:
        yield carrier


@contextmanager
def asgi_server(home: Path, script: Path, kept: Path, pause: float) -> Iterator[Carrier]:
    """uvicorn, with a small application behind the middleware that keeps what it is sent."""
    python = _environment("mitmproxy-uvicorn", "mitmproxy>=11.0.2", "uvicorn")
    (port,) = free_ports("127.0.0.1", 1)
    words: Words = [python, "-m", "uvicorn", "exports_app:app", "--app-dir", _APP.parent]
    words += ["--host", "127.0.0.1", "--port", str(port)]
    more = {
        "EXPORTS_SCRIPT": str(script),
        "EXPORTS_KEPT": str(kept),
        "EXPORTS_PAUSE": str(pause),
    }
    with _running(words, home, port, "/health", **more) as carrier:
        yield carrier


@contextmanager
def mitmdump(home: Path, script: Path, upstream: str) -> Iterator[Carrier]:
    """mitmdump as a reverse proxy."""
    python = _environment("mitmproxy-uvicorn", "mitmproxy>=11.0.2", "uvicorn")
    (port,) = free_ports("127.0.0.1", 1)
    start = "from mitmproxy.tools.main import mitmdump; mitmdump()"
    words: Words = [python, "-c", start, "--mode", f"reverse:{upstream}", "-s", script]
    words += ["--listen-host", "127.0.0.1", "--listen-port", str(port)]
    with _running(words, home, port, "/") as carrier:
        yield carrier


def _environment(name: str, *packages: str) -> Path:
    """The interpreter of an environment that holds packages, and not cachediag."""
    place = clients._cache() / name
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as staging:
            made = Path(staging, "environment")
            uv = [sys.executable, "-m", "uv"]
            steps: list[Words] = [
                [*uv, "venv", "--quiet", "--python", sys.executable, made],
                [*uv, "pip", "install", "--quiet", "--python", made / "bin" / "python", *packages],
            ]
            for words in steps:
                said = clients.run(words, env=os.environ, cwd=place.parent, timeout=900)
                if said.code != 0:
                    pytest.fail(f"{words} failed:\n{said.stderr[-2000:]}")
            # Nothing in it is run by its own path but the interpreter, which finds its
            # environment wherever that stands.
            made.rename(place)
    return place / "bin" / "python"


@contextmanager
def _running(words: Words, home: Path, port: int, path: str, **more: str) -> Iterator[Carrier]:
    environment = clients.environment(home, **more)
    # The package under test must not be found.
    environment.pop("PYTHONPATH", None)
    _see_that_cachediag_is_not_there(words[0], environment, home)
    carrier = Carrier(f"http://127.0.0.1:{port}", home / "carrier.log")
    with (
        carrier.log.open("wb") as output,
        subprocess.Popen(
            [str(word) for word in words],
            env=environment,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            _await(carrier, path, process)
            yield carrier
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _see_that_cachediag_is_not_there(
    python: str | Path, environment: dict[str, str], home: Path
) -> None:
    if "python" in Path(python).name:
        said = clients.run([python, "-c", "import cachediag"], env=environment, cwd=home)
        assert "No module named 'cachediag'" in said.stderr


def _await(carrier: Carrier, path: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _START
    while time.monotonic() < end and process.poll() is None:
        try:
            _direct.open(carrier.url + path, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the program did not start; it said:\n{carrier.logged()[-2000:]}")
