import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cachediag.capture.client import (
    CommandError,
    base_urls,
    check_command,
    forward_environment,
    host_of,
    origin_of,
    proxies_to,
    reverse_environment,
    run,
    wait_for_interrupt,
)
from cachediag.errors import UsageError

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("environ", "upstream", "anthropic", "openai", "older"),
    [
        (
            {},
            None,
            "https://api.anthropic.com",
            "https://api.openai.com/v1",
            "https://api.openai.com/v1",
        ),
        (
            {"ANTHROPIC_BASE_URL": "http://mac:8000/api", "OPENAI_BASE_URL": ""},
            None,
            "http://mac:8000/api",
            "https://api.openai.com/v1",
            "https://api.openai.com/v1",
        ),
        (
            {"OPENAI_BASE_URL": "http://mac:1/v1", "OPENAI_API_BASE": "http://mac:2/v1"},
            None,
            "https://api.anthropic.com",
            "http://mac:1/v1",
            "http://mac:2/v1",
        ),
        (
            {"OPENAI_API_BASE": "http://m/x"},
            None,
            "https://api.anthropic.com",
            "http://m/x",
            "http://m/x",
        ),
        (
            {"ANTHROPIC_BASE_URL": "nonsense"},
            "http://mac:8000",
            "http://mac:8000",
            "http://mac:8000/v1",
            "http://mac:8000/v1",
        ),
        ({}, "http://mac:8000/", "http://mac:8000", "http://mac:8000/v1", "http://mac:8000/v1"),
        ({}, "https://mac/api/v1/", "https://mac/api", "https://mac/api/v1", "https://mac/api/v1"),
    ],
)
def test_the_server_is_what_the_client_would_have_used(environ, upstream, anthropic, openai, older):
    assert base_urls(environ, upstream) == {
        "ANTHROPIC_BASE_URL": anthropic,
        "OPENAI_BASE_URL": openai,
        "OPENAI_API_BASE": older,
    }


@pytest.mark.parametrize(
    "url",
    ["mac-studio:8000", "127.0.0.1:8000", "ftp://x", "http://", "http://x:99999", "http://[::1"],
)
def test_what_is_no_url_is_refused_with_its_source(url):
    with pytest.raises(UsageError) as refused:
        base_urls({}, url)
    assert refused.value.where == "--upstream"
    with pytest.raises(UsageError) as refused:
        base_urls({"OPENAI_BASE_URL": url}, None)
    assert refused.value.where == "OPENAI_BASE_URL"
    assert "http://HOST:PORT" in (refused.value.remedy or "")


def test_a_refused_url_shows_no_password():
    with pytest.raises(UsageError) as refused:
        base_urls({}, "ftp://me:hunter2@host/")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com:443"),
        ("http://Mac.local/api/v1?x", "http://mac.local:80"),
        ("http://me:pw@127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_origins(url, origin):
    assert origin_of(url) == origin
    assert host_of(url) == origin.partition("://")[2]


def test_a_reverse_proxy_takes_the_servers_place_in_each_variable():
    urls = {"A": "http://me:pw@mac:8000/api/", "B": "https://vendor/v1", "C": "https://vendor"}
    local = {"http://mac:8000": "http://127.0.0.1:1", "https://vendor:443": "http://127.0.0.1:2"}
    assert reverse_environment({"HOME": "/x", "NO_PROXY": "corp"}, urls, local) == {
        "A": "http://me:pw@127.0.0.1:1/api",
        "B": "http://127.0.0.1:2/v1",
        "C": "http://127.0.0.1:2",
    }


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy"])
@pytest.mark.parametrize(
    "exceptions", [{}, {"NO_PROXY": "corp.example"}, {"no_proxy": "corp.example"}]
)
def test_a_reverse_proxy_is_reached_past_the_client_s_own_proxy(name, exceptions):
    changed = reverse_environment({name: "http://proxy:3128", **exceptions}, {}, {})
    kept = ["corp.example"] if exceptions else []
    expected = ",".join([*kept, "127.0.0.1", "localhost", "::1"])
    assert changed == {"NO_PROXY": expected, "no_proxy": expected}


def test_a_forward_proxy_is_used_for_the_vendor_though_no_proxy_excepts_it():
    environ = {
        "NO_PROXY": "localhost, .anthropic.com api.openai.com,.corp.example",
        "no_proxy": "*",
        "SSL_CERT_FILE": "/old.pem",
    }
    changed = forward_environment(
        environ,
        "http://127.0.0.1:1",
        {"SSL_CERT_FILE": "/new.pem"},
        ["api.anthropic.com:443", "api.openai.com:443"],
    )
    assert changed == {
        "HTTPS_PROXY": "http://127.0.0.1:1",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "https_proxy": "http://127.0.0.1:1",
        "http_proxy": "http://127.0.0.1:1",
        "SSL_CERT_FILE": "/new.pem",
        "NO_PROXY": "localhost,.corp.example",
        "no_proxy": "",
    }


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {}),
        ({"HTTPS_PROXY": "http://p:1"}, {"https://vendor:443": "http://p:1"}),
        ({"https_proxy": "p:1", "HTTPS_PROXY": "http://q:2"}, {"https://vendor:443": "http://p:1"}),
        ({"HTTP_PROXY": "http://p:1"}, {"http://mac.local:8000": "http://p:1"}),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "vendor"}, {}),
        (
            {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "vendor:8443"},
            {"https://vendor:443": "http://p:1"},
        ),
        ({"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://p:1", "no_proxy": "*"}, {}),
    ],
)
def test_which_servers_lie_behind_a_proxy(environ, expected):
    origins = [
        "https://vendor:443",
        "http://mac.local:8000",
        "http://127.0.0.1:8000",
        "http://localhost:8000",
        "http://[::1]:8000",
    ]
    assert proxies_to(origins, environ) == expected


@pytest.mark.parametrize("code", [0, 1, 3, 130, 255])
def test_the_exit_code_is_the_client_s(code):
    assert run([sys.executable, "-c", f"raise SystemExit({code})"], os.environ) == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_client_that_a_signal_ended(number):
    assert run(["/bin/sh", "-c", f"kill -{int(number)} $$"], os.environ) == 128 + number


def test_the_client_has_the_environment_and_the_streams(capfd):
    assert run(["/bin/sh", "-c", "echo out $X; echo err >&2"], {"X": "1"}) == 0
    assert capfd.readouterr() == ("out 1\n", "err\n")


@pytest.mark.parametrize("start", [check_command, lambda name: run([name], {})])
def test_a_client_that_cannot_be_started(start, tmp_path):
    with pytest.raises(CommandError) as refused:
        start(str(tmp_path / "no-such-client"))
    assert (refused.value.exit_code, refused.value.message) == (127, "command not found")
    plain = tmp_path / "notes.txt"
    plain.write_text("x")
    with pytest.raises(CommandError) as refused:
        start(str(plain))
    assert refused.value.exit_code == 126
    check_command("sh")


RUNNER = """
import sys
from cachediag.capture.client import run
code = run([sys.executable, "-c", sys.argv[1]], {})
print("ended with", code, flush=True)
"""
PATIENT = """
import os, signal, sys, time
def on(number, _):
    os.write(1, f"got {signal.Signals(number).name}\\n".encode())
    sys.exit(7)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, on)
print("ready", flush=True)
time.sleep(20)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_signals_are_passed_on_and_the_client_decides(name):
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, PATIENT],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(getattr(signal, name))
        assert process.stdout.read() == f"got {name}\nended with 7\n"


def test_ctrl_c_reaches_the_client_once_and_its_answer_counts():
    """As a terminal sends it: to all that run in the foreground."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PYTHONPATH"] = str(ROOT)
        counting = PATIENT.replace("sys.exit(7)", "time.sleep(0.5); sys.exit(7)")
        os.execv(sys.executable, [sys.executable, "-c", RUNNER, counting])
    said = b""

    def read_until(text: bytes) -> None:
        nonlocal said
        while text not in said:
            said += os.read(terminal, 1000)

    read_until(b"ready")
    os.write(terminal, b"\x03")
    read_until(b"ended with 7")
    assert said.count(b"got SIGINT") == 1
    os.waitpid(pid, 0)
    os.close(terminal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_and_is_handled_as_before_afterwards(number):
    before = signal.getsignal(number)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), number))
    timer.start()
    assert wait_for_interrupt(threading.Event()) is True
    assert signal.getsignal(number) is before


def test_the_wait_ends_when_the_proxy_has_stopped():
    stopped = threading.Event()
    threading.Timer(0.1, stopped.set).start()
    began = time.monotonic()
    assert wait_for_interrupt(stopped) is False
    assert time.monotonic() - began < 5
