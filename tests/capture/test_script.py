"""`addons/capture.py` in a mitmdump of the user's own."""

import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.io import FlowReader

from cachediag.session import Session, newest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def mitmdump(tmp_path):
    """Start mitmdump with the script; gives the process and its port."""
    running = []

    def start(*options: str) -> tuple["subprocess.Popen[str]", int]:
        command = "from mitmproxy.tools.main import mitmdump; mitmdump()"
        script = str(ROOT / "addons" / "capture.py")
        confdir = f"confdir={tmp_path / 'confdir'}"
        listen = ["--listen-host", "127.0.0.1", "-p", "0", "--set", confdir]
        process = subprocess.Popen(
            [sys.executable, "-c", command, "-s", script, *listen, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT), "CACHEDIAG_HOME": str(tmp_path / "home")},
        )
        running.append(process)
        assert process.stdout is not None
        for line in process.stdout:
            if " listening at " in line:
                return process, int(line.rstrip(" .\n").rpartition(":")[2])
        raise AssertionError(f"mitmdump ended: {process.wait()}")

    yield start
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def post(port: int, path: str, body: bytes) -> bytes:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", path, body, {"x-api-key": "sk-ant-a-secret-key"})
    content = connection.getresponse().read()
    connection.close()
    return content


def ended(process: "subprocess.Popen[str]") -> str:
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    return said


def test_it_records_into_the_given_file_and_leaves_the_flows_whole(serve, mitmdump, tmp_path):
    server = serve(lambda request, reply: reply.body(b"answer to " + request.body))
    path, flows = tmp_path / "mine.cachediag", tmp_path / "flows.mitm"
    process, port = mitmdump(
        "--mode", f"reverse:{server.url}", "--set", f"cachediag_file={path}", "-w", str(flows)
    )
    assert post(port, "/v1/messages", b"one") == b"answer to one"
    assert post(port, "/elsewhere", b"two") == b"answer to two"
    assert f"recording to {path}" in ended(process)
    with Session.open(path) as session:
        (exchange,) = session.exchanges()
    assert exchange.info.endpoint == "messages"
    assert (exchange.request, exchange.response) == (b"one", b"answer to one")
    assert path.stat().st_mode & 0o777 == 0o600
    with flows.open("rb") as file:
        read: list[Any] = list(FlowReader(file).stream())
    kept = [flow.response.raw_content for flow in read]
    assert kept == [b"answer to one", b"answer to two"]


def test_without_the_option_it_is_found_among_the_recordings(
    serve, mitmdump, tmp_path, monkeypatch
):
    server = serve(lambda request, reply: reply.body(b"{}"))
    process, port = mitmdump("--mode", f"reverse:{server.url}")
    post(port, "/v1/messages", b"one")
    ended(process)
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    with Session.open(newest()) as session:
        assert [exchange.request for exchange in session.exchanges()] == [b"one"]


def test_a_session_that_cannot_be_written_is_told_once_and_harms_no_traffic(
    serve, mitmdump, tmp_path
):
    server = serve(lambda request, reply: reply.body(b"{}"))
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "mine.cachediag"
    process, port = mitmdump("--mode", f"reverse:{server.url}", "--set", f"cachediag_file={path}")
    for _ in range(3):
        assert post(port, "/v1/messages", b"one") == b"{}"
    assert ended(process).count("the exchange was passed on unrecorded") == 1
