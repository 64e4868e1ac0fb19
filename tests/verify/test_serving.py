import os
import stat
import sys
import time
from pathlib import Path

import pytest

from cachediag.backends.asking import get
from cachediag.errors import UpstreamError, UsageError
from cachediag.verify.serving import interpreter, serving

# Answers after a while, has a child of its own, and does not end when it is asked to.
SERVER = """
import http.server, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("child", child.pid, flush=True)
time.sleep(0.3)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
        self.wfile.write(os.environ["SAYS"].encode())

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def is_gone(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_server_is_waited_for_and_ended_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr("cachediag.verify.serving._END_SECONDS", 0.5)
    log = tmp_path / "log"
    with serving([sys.executable, "-c", SERVER, "{port}"], {"SAYS": "aye"}, log) as url:
        answer = get(url, "/health")
        assert answer is not None
        assert answer.text == "aye"
        child = int(log.read_text().split()[1])
    assert get(url, "/health") is None
    assert is_gone(child)


def test_a_server_that_ends_is_told_with_what_it_said(tmp_path):
    words = [sys.executable, "-c", "import sys; sys.exit('no such model: {port}')"]
    with (
        pytest.raises(UpstreamError, match=r"the server ended; .*no such model: \d+"),
        serving(words, dict(os.environ), tmp_path / "log"),
    ):
        pass


def test_a_server_that_does_not_answer_is_given_up(tmp_path):
    words = [sys.executable, "-c", "import time; time.sleep(60)", "{port}"]
    begun = time.monotonic()
    with (
        pytest.raises(UpstreamError, match="does not answer; the last that it said: nothing"),
        serving(words, dict(os.environ), tmp_path / "log", start_seconds=0.3),
    ):
        pass
    assert time.monotonic() - begun < 10


def test_a_command_that_is_not_there_is_told(tmp_path):
    with (
        pytest.raises(UsageError, match="no-such-server: cannot be run"),
        serving(["no-such-server", "{port}"], {}, tmp_path / "log"),
    ):
        pass


def test_an_interrupt_ends_the_server(tmp_path):
    with (
        pytest.raises(KeyboardInterrupt),
        serving([sys.executable, "-c", SERVER, "{port}"], {"SAYS": ""}, tmp_path / "log"),
    ):
        raise KeyboardInterrupt
    assert is_gone(int((tmp_path / "log").read_text().split()[1]))


def test_the_interpreter_is_the_first_word_or_what_its_script_names(tmp_path):
    python = tmp_path / "python3"
    python.symlink_to(sys.executable)
    script = tmp_path / "vllm-mlx"
    other = tmp_path / "shell"
    for path, head in ((script, f"#!{python}"), (other, "#!/bin/sh")):
        path.write_text(f"{head}\npass\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    assert interpreter(str(python)) == python
    assert interpreter(str(script)) == python
    assert interpreter(str(other)) is None
    assert interpreter("no-such-server") is None
