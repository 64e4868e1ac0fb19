"""The server's life, with an engine that only answers."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from cachediag.backends.sandbox import Sandbox, running, server
from cachediag.errors import UpstreamError

ENGINE = """
import argparse, json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        told = {"environment": dict(os.environ), "words": sys.argv, "cwd": os.getcwd()}
        self.wfile.write(json.dumps(told).encode())


def main():
    if "--fail" in sys.argv:
        print("RuntimeError: no such model")
        return 3
    print("started", flush=True)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
PREPARED = """
import sys
from pathlib import Path
from cachediag.backends.sandbox import Sandbox, server

site, root = Path(sys.argv[1]), Path(sys.argv[2])
server.python = lambda _: Path(sys.executable)
server.model = lambda *_: root
with server.running(Sandbox(root), "vllm-mlx", "0.3.0", site_dir=site) as running:
    print(running.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def site(tmp_path):
    package = tmp_path / "site" / "vllm_mlx"
    package.mkdir(parents=True)
    (package / "cli.py").write_text(ENGINE)
    return tmp_path / "site"


@pytest.fixture
def sandbox(tmp_path, site, monkeypatch):
    monkeypatch.setattr(server, "python", lambda _: Path(sys.executable))
    monkeypatch.setattr(server, "site", lambda *_: site)
    monkeypatch.setattr(server, "model", lambda *_: tmp_path / "model")
    told: list[str] = []
    (tmp_path / "root").mkdir()
    return Sandbox(tmp_path / "root", tell=told.append)


def ended(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_it_runs_as_long_as_the_block(sandbox, site, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    more = {"EXTRA": "1"}
    options = ("--enable-metrics",)
    with running(
        sandbox, "vllm-mlx", "0.3.0", served_as="m", options=options, environment=more
    ) as it:
        assert (it.model, it.engine, it.release, it.site) == ("m", "vllm-mlx", "0.3.0", site)
        told = json.load(urllib.request.urlopen(f"{it.base_url}/health"))
        assert it.log.read_text().startswith("started\n")
        assert it.home.parent == sandbox.root / "runs"
    words = told["words"]
    assert words[:2] == ["vllm-mlx", "serve"]
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert words[words.index("--served-model-name") + 1] == "m"
    assert words[-1] == "--enable-metrics"
    environment = told["environment"]
    assert (environment["HOME"], environment["EXTRA"]) == (str(it.home), "1")
    assert told["cwd"] == str(it.home)
    assert "ANTHROPIC_API_KEY" not in environment
    assert not it.home.exists()
    assert ended(it.pid)
    assert sandbox.tell.__self__[0] == "starting vllm-mlx 0.3.0"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_ends_the_block_ends_the_server(sandbox, error):
    with pytest.raises(error), running(sandbox, "vllm-mlx", "0.3.0") as it:
        raise error
    assert ended(it.pid)
    assert not it.home.exists()


def test_a_home_that_is_given_stays(sandbox, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with running(sandbox, "vllm-mlx", "0.2.6", home=home) as it:
        told = json.load(urllib.request.urlopen(f"{it.base_url}/health"))
    assert "--served-model-name" not in told["words"]
    assert (home / "server.log").read_text().startswith("started\n")


def test_a_server_that_does_not_start(sandbox):
    starting = running(sandbox, "vllm-mlx", "0.3.0", options=["--fail"])
    with pytest.raises(UpstreamError) as caught, starting:
        pytest.fail("started")
    assert str(caught.value) == (
        "vllm-mlx 0.3.0 ended when it was to start: RuntimeError: no such model"
    )
    kept = sandbox.root / "failed.log"
    assert str(kept) in (caught.value.remedy or "")
    assert kept.read_text() == "RuntimeError: no such model\n"
    assert list((sandbox.root / "runs").iterdir()) == []


def test_a_server_that_says_nothing_in_time(sandbox, site, monkeypatch):
    monkeypatch.setattr(server, "_START_SECONDS", 0.2)
    (site / "vllm_mlx" / "cli.py").write_text("import time\ntime.sleep(60)\n")
    silent = pytest.raises(UpstreamError, match="was to start: it said nothing")
    with silent, running(sandbox, "vllm-mlx", "0.3.0"):
        pytest.fail("started")


def test_killing_the_starter_ends_the_server(site, tmp_path):
    root = Path(__file__).parents[3]
    starter = subprocess.Popen(
        [sys.executable, "-c", PREPARED, str(site), str(tmp_path)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with starter:
        assert starter.stdout
        pid = int(starter.stdout.readline())
        starter.send_signal(signal.SIGKILL)
    assert ended(pid)
