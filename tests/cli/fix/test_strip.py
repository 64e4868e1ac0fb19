"""`cachediag fix strip` and `record --rules` as a user runs them: a process with a client in it."""

import os
import pty
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from cachediag.session import Session
from tests.cli.running import bare
from tests.fix.material import TOML, body

CLIENT = """
import os, sys, urllib.request
from tests.fix.material import body
def send(number, path="/v1/messages"):
    url = os.environ["ANTHROPIC_BASE_URL"] + path
    return urllib.request.urlopen(urllib.request.Request(url, body(number)), timeout=20).read()
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def client(script: str) -> list[str]:
    return ["--", sys.executable, "-c", CLIENT + textwrap.dedent(script)]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "rules.toml").write_text(TOML)
    return bare(tmp_path / "home")


@pytest.fixture
def run(tmp_path: Path, environ: dict[str, str]) -> Run:
    """Run a command of cachediag to its end."""

    def to_the_end(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "cachediag", *words],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return to_the_end


@pytest.fixture
def start(
    tmp_path: Path, environ: dict[str, str]
) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start `cachediag fix strip` and go on."""
    running = []

    def begin(*words: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "cachediag", "fix", "strip", *words],
            cwd=tmp_path,
            env=environ,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


@pytest.fixture
def upstream(serve):
    return serve(lambda request, reply: reply.stream(b"data: tick\n\n"))


def read_until(process: "subprocess.Popen[str]", pattern: str) -> "re.Match[str]":
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    said = ""
    try:
        for line in process.stderr or ():
            said += line
            if found := re.search(pattern, line):
                return found
    finally:
        watchdog.cancel()
    raise AssertionError(f"{pattern!r} did not come in:\n{said}")


def post(url: str, number: int) -> bytes:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=20)
    connection.request("POST", "/v1/messages", body(number))
    content = connection.getresponse().read()
    connection.close()
    return content


def test_a_client_s_requests_go_on_without_what_the_rules_name(run, upstream, tmp_path):
    script = 'print((send(0) + send(1)).count(b"tick"), end=""); send(2, "/x"); sys.exit(7)'
    done = run("fix", "strip", "--rules", "rules.toml", "--upstream", upstream.url, *client(script))
    assert (done.returncode, done.stdout) == (7, "2")
    assert upstream.bodies == [body(0, stripped=True), body(1, stripped=True), body(2)]
    lines = done.stderr.splitlines()
    assert lines[0] == "rules of rules.toml: 1 of 2 rules enabled"
    assert re.fullmatch(rf"127\.0\.0\.1:\d+ → {re.escape(upstream.url)}", lines[1])
    assert lines[2:4] == ["", "2 of 2 requests changed by rules"]
    assert re.fullmatch(r"  strip-billing-header +2 requests +\d+ bytes", lines[4])
    command = f"cachediag verify --backend {upstream.url} --rules rules.toml"
    assert lines[5:] == ["", f"next   {command}", "       what it is worth on the server"]
    assert list(tmp_path.glob("home/sessions/*")) == []


def test_a_client_that_keeps_its_server_is_given_a_proxy(run, upstream, environ):
    environ["ANTHROPIC_BASE_URL"] = upstream.url
    words = ("fix", "strip", "--rules", "rules.toml", "--mode", "forward")
    script = 'print(os.environ["ANTHROPIC_BASE_URL"], send(0).count(b"tick"))'
    done = run(*words, *client(script))
    assert (done.returncode, done.stdout) == (0, f"{upstream.url} 1\n")
    assert upstream.bodies == [body(0, stripped=True)]
    assert "1 of 1 request changed by rules" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_client_it_runs_until_it_is_told_to_end(start, upstream, number):
    process = start("--rules", "rules.toml", "--upstream", upstream.url)
    url = read_until(process, r"^export ANTHROPIC_BASE_URL=(\S+)")[1]
    read_until(process, "Ctrl-C ends the proxy")
    assert post(url, 0) == b"data: tick\n\n"
    process.send_signal(number)
    _, rest = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "\n1 of 1 request changed by rules\n" in rest
    assert "\x1b" not in rest
    assert upstream.bodies == [body(0, stripped=True)]


def test_the_rules_follow_their_file(start, upstream, tmp_path):
    process = start("--rules", "rules.toml", "--upstream", upstream.url)
    url = read_until(process, r"^export ANTHROPIC_BASE_URL=(\S+)")[1]
    read_until(process, "Ctrl-C")
    rules = tmp_path / "rules.toml"
    for number, text in enumerate([TOML, "", "[[rule", "[[rule", "version = 1\n#\n", TOML + "\n"]):
        rules.write_text(text or TOML.replace("enabled = true", "enabled = false"))
        os.utime(rules, (number, number))
        post(url, number)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=20)
    assert [each != body(n) for n, each in enumerate(upstream.bodies)] == [
        True,
        False,
        False,
        False,
        False,
        True,
    ]
    told = [line for line in rest.splitlines() if line.startswith("cachediag: ")]
    assert len(told) == 6, told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rules", "missing.toml"), "missing.toml: cannot be read (No such file or directory)"),
        (("--rules", "wrong.toml"), "wrong.toml:1: "),
        (("--rules", "rules.toml", "--upstream", "mac:8000"), "--upstream: not a URL"),
        (("--rules", "rules.toml", "--host", "256.1.1.1"), "256.1.1.1: not an address"),
    ],
)
@pytest.mark.parametrize("command", [("fix", "strip"), ("record",)])
def test_what_cannot_be_done_is_said_before_anything_runs(run, tmp_path, command, words, said):
    (tmp_path / "wrong.toml").write_text("[[rule")
    done = run(*command, *words, "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cachediag: {said}" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.glob("home/sessions/*")) == []


def test_a_client_that_is_not_there(run):
    done = run("fix", "strip", "--rules", "rules.toml", "--", "no-such-client")
    assert done.returncode == 127
    assert "cachediag: no-such-client: command not found" in done.stderr


def test_the_rules_are_needed(run):
    done = run("fix", "strip", "--", "true")
    assert done.returncode == 2
    assert "fix strip: missing option '--rules'" in done.stderr


def test_others_who_can_reach_it_are_warned_of(run, upstream):
    words = ("--rules", "rules.toml", "--upstream", upstream.url, "--host", "0.0.0.0")
    done = run("fix", "strip", *words, "--", "true")
    assert (
        "cachediag: WARNING: 0.0.0.0 can be reached from other machines. Whoever connects can use"
        " your server.\n"
    ) in done.stderr


def test_a_recording_keeps_what_came_in_and_what_went_out(run, upstream, tmp_path):
    done = run(
        *("record", "--rules", "rules.toml", "--upstream", upstream.url, "-o", "s.cachediag"),
        *client("send(0); send(1); send(1)"),
    )
    assert done.returncode == 0
    with Session.open(tmp_path / "s.cachediag") as session:
        kept = [(each.request, each.outgoing) for each in session.exchanges()]
    numbers = (0, 1, 1)
    assert kept == [(body(n), body(n, stripped=True)) for n in numbers]
    assert upstream.bodies == [body(n, stripped=True) for n in numbers]
    said = done.stderr
    assert said.startswith("rules of rules.toml: 1 of 2 rules enabled\nrecording to s.cachediag\n")
    assert "\n3 of 3 requests changed by rules\n" in said
    # What went out breaks no prefix.
    assert "V01" not in said
    assert "No request broke a prefix shared with an earlier one." in said


def test_a_session_is_continued_with_what_went_out(run, upstream, tmp_path):
    for number in range(2):
        done = run(
            *("record", "--rules", "rules.toml", "--upstream", upstream.url, "-o", "s.cachediag"),
            *client(f"send({number})"),
        )
    assert "V01" not in done.stderr
    assert "No request broke a prefix" in done.stderr


def test_on_a_terminal_the_count_is_kept_up_to_date_in_one_line(upstream, tmp_path, environ):
    words = ["fix", "strip", "--rules", "rules.toml", "--upstream", upstream.url]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        environ = environ | {"TERM": "xterm", "COLUMNS": "100"}
        os.execve(sys.executable, [sys.executable, "-m", "cachediag", *words], environ)
    said = b""

    def read(until: bytes) -> None:
        nonlocal said
        while until not in said:
            said += os.read(terminal, 10_000)

    read(b"0 of 0 requests changed by rules")
    (url,) = re.findall(rb"export ANTHROPIC_BASE_URL=(\S+)\r", said)
    post(url.decode(), 0)
    read(b"1 of 1 request changed by rules")
    post(url.decode(), 1)
    read(b"2 of 2 requests changed by rules")
    os.write(terminal, b"\x03")
    said += read_all(terminal)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    live, _, summary = said.decode().rpartition("2 of 2 requests changed by rules")
    # Each line is taken back before the next one is written, and the last one in the end.
    assert live.count("changed by rules") == live.count("\x1b[2K") >= 3
    assert re.search(r"strip-billing-header +2 requests", summary)


def read_all(terminal: int) -> bytes:
    said = b""
    # Linux ends a terminal that nobody holds open with an error, others with nothing.
    with suppress(OSError):
        while data := os.read(terminal, 10_000):
            said += data
    return said


def test_while_a_client_has_the_terminal_nothing_is_printed_into_its_screen(
    upstream, tmp_path, environ
):
    words = ["fix", "strip", "--rules", "rules.toml", "--upstream", upstream.url]
    script = 'print("screen begins"); send(0); send(1); print("screen ends")'
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(
            sys.executable, [sys.executable, "-m", "cachediag", *words, *client(script)], environ
        )
    said = read_all(terminal)
    os.waitpid(pid, 0)
    os.close(terminal)
    _, _, rest = said.decode().replace("\r\n", "\n").partition("screen begins\n")
    screen, _, after = rest.partition("screen ends\n")
    assert screen == ""
    assert "2 of 2 requests changed by rules" in after
