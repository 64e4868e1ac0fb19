"""`cachediag record` as a user runs it: a process of its own, with a client of its own."""

import os
import pty
import re
import resource
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import textwrap
import threading
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
import trustme

from cachediag.model import Usage
from cachediag.session import Session
from tests.cli.running import bare

KEY = "sk-ant-api03-planted-in-the-header"

ANSWER = (
    b'event: message_start\ndata: {"type":"message_start","message":{"model":"tiny-1",'
    b'"usage":{"input_tokens":12,"output_tokens":1}}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"A band of silk"}}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":9}}\n\n'
)

POST = """
import json, os, sys, urllib.error, urllib.request

def post(variable, path, body, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("content-type", "application/json")
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(os.environ[variable] + path, data, named)
    try:
        return urllib.request.urlopen(request, timeout=20).read()
    except urllib.error.HTTPError as error:
        return error.read()

def message(number, **headers):
    body = {"model": "tiny", "messages": [{"role": "user", "content": f"turn {number}"}]}
    return post("ANTHROPIC_BASE_URL", "/v1/messages?beta=true", body, **headers)
"""


def client(script: str) -> list[str]:
    return [sys.executable, "-c", POST + textwrap.dedent(script)]


@pytest.fixture
def environ(tmp_path) -> dict[str, str]:
    return bare(tmp_path / "home")


@pytest.fixture
def record(tmp_path, environ):
    """Run `cachediag record` to its end."""

    def run(*words: str | Path, **options) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "cachediag", "record", *map(str, words)],
            cwd=tmp_path,
            env=environ | options.pop("env", {}),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def start(tmp_path, environ):
    """Start `cachediag record` and go on."""
    running = []

    def begin(*words: str | Path, **options) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "cachediag", "record", *map(str, words)],
            cwd=tmp_path,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
            **options,
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()


@pytest.fixture
def upstream(serve):
    return serve(lambda request, reply: reply.stream(ANSWER))


def read_until(process: "subprocess.Popen[str]", pattern: str) -> str:
    """Read the process's stderr up to a line that matches; gives the last group of the match."""
    said = ""
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        for line in process.stderr or ():
            said += line
            if found := re.search(pattern, line):
                return found.groups()[-1] if found.groups() else line
    finally:
        watchdog.cancel()
    raise AssertionError(f"{pattern!r} did not come in:\n{said}")


def read_all(terminal: int) -> bytes:
    said = b""
    # Linux ends a terminal that nobody holds open with an error, others with nothing.
    with suppress(OSError):
        while data := os.read(terminal, 10_000):
            said += data
    return said


def exchanges(path: Path):
    with Session.open(path) as session:
        return list(session.exchanges())


def test_a_whole_scripted_recording(record, upstream, tmp_path):
    done = record(
        "--upstream",
        upstream.url,
        "-o",
        "books.cachediag",
        "--",
        *client("""
            print(message(0).decode().count("silk"), end="")
            post("OPENAI_BASE_URL", "/chat/completions", {"model": "gpt", "messages": []})
            post("ANTHROPIC_BASE_URL", "/api/event_logging", {})
            sys.exit(7)
        """),
    )
    path = tmp_path / "books.cachediag"
    assert (done.returncode, done.stdout) == (7, "1")
    lines = done.stderr.splitlines()
    assert lines[0] == "recording to books.cachediag"
    assert re.fullmatch(rf"127\.0\.0\.1:\d+ → {re.escape(upstream.url)}", lines[1])
    assert " ".join(lines[3].split()) == "# lane kind TTFT blocks shared since its parent"
    assert re.fullmatch(r"  0  main +turn +\d\.\d s +\d+ +first of its conversation", lines[4])
    assert re.fullmatch(r"  1  main-2 +turn +\d\.\d s +0 +first of its conversation", lines[5])
    assert lines[6] == ""
    assert re.fullmatch(
        r"2 requests \(and 1 of other kinds\), 2 lanes, [\d.]+ B of bodies in a [\d.]+ KB file",
        lines[7],
    )
    assert lines[8:] == [
        "No request broke a prefix shared with an earlier one.",
        "",
        "next   cachediag diff books.cachediag   see what changed between them",
    ]
    assert [request.path for request in upstream.received] == [
        "/v1/messages?beta=true",
        "/v1/chat/completions",
        "/api/event_logging",
    ]
    first, second, third = exchanges(path)
    assert (first.request, first.response) == (upstream.bodies[0], ANSWER)
    assert first.info.usage == Usage(input_tokens=12, output_tokens=9)
    assert (second.info.endpoint, second.request) == ("chat", upstream.bodies[1])
    assert (third.info.endpoint, third.request, third.response) == ("other", b"", b"")
    assert path.stat().st_mode & 0o777 == 0o600
    with Session.open(path) as session:
        assert session.meta["upstream"] == upstream.url
        assert session.meta["client"] == Path(sys.executable).name


def test_a_session_that_exists_is_continued(record, upstream, tmp_path):
    for number in range(2):
        done = record(
            "--upstream", upstream.url, "-o", "s.cachediag", "--", *client(f"message({number})")
        )
        assert done.returncode == 0
    assert [each.request for each in exchanges(tmp_path / "s.cachediag")] == upstream.bodies
    assert len(upstream.bodies) == 2


def test_the_client_s_options_need_no_dashes_before_them(record, upstream):
    done = record(
        "--upstream", upstream.url, sys.executable, "-c", "import sys; print(sys.argv)", "-x"
    )
    assert done.stdout == "['-c', '-x']\n"


def test_each_vendor_s_server_is_the_one_the_environment_names(record, serve):
    one = serve(lambda request, reply: reply.body(b"one"))
    two = serve(lambda request, reply: reply.body(b"two"))
    done = record(
        "--",
        *client("""
            print(post("ANTHROPIC_BASE_URL", "/v1/messages", {}).decode(), end="")
            print(post("OPENAI_BASE_URL", "/responses", {}).decode(), end="")
        """),
        env={"ANTHROPIC_BASE_URL": f"{one.url}/api/", "OPENAI_BASE_URL": f"{two.url}/oai/v1"},
    )
    assert done.stdout == "onetwo"
    assert [request.path for request in one.received] == ["/api/v1/messages"]
    assert [request.path for request in two.received] == ["/oai/v1/responses"]
    assert f"→ {one.url}/api\n" in done.stderr
    assert f"→ {two.url}/oai/v1\n" in done.stderr
    assert "\nnext   cachediag diff   see" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--upstream", "mac:8000", "--", "true"), 2, "cachediag: --upstream: not a URL\n"),
        (("-o", "notes.txt", "--", "true"), 2, "cachediag: notes.txt: not a session file\n"),
        (("--", "no-such-client"), 127, "cachediag: no-such-client: command not found\n"),
        (("--", "./notes.txt"), 126, "cachediag: ./notes.txt: cannot be run (not executable)\n"),
        (
            ("--host", "256.1.1.1", "--", "true"),
            2,
            "cachediag: 256.1.1.1: not an address of this machine\n",
        ),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_runs(record, tmp_path, words, code, said):
    (tmp_path / "notes.txt").write_text("only notes\n")
    done = record(*words)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "notes.txt").read_text() == "only notes\n"
    assert list(tmp_path.glob("home/sessions/*")) == []


def test_a_port_in_use_is_said_with_its_remedy(record, upstream):
    port = upstream.url.rpartition(":")[2]
    done = record("--port", port, "--", "true")
    assert done.returncode == 2
    assert (
        f"cachediag: 127.0.0.1:{port}: cannot listen there: Address already in use\n" in done.stderr
    )
    assert "Give another --port" in done.stderr


def test_where_nothing_came_by_no_session_is_left(record, upstream, tmp_path):
    done = record("--upstream", upstream.url, "--", "true")
    assert done.returncode == 0
    assert "no request to a model came by\n" in done.stderr
    assert "cachediag record --mode forward" in done.stderr
    assert list(tmp_path.glob("home/sessions/*")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_client_it_runs_until_it_is_told_to_end(start, upstream, tmp_path, number):
    process = start("--upstream", upstream.url, "-o", "s.cachediag")
    url = read_until(process, r"^export ANTHROPIC_BASE_URL=(\S+)")
    assert read_until(process, r"^export OPENAI_BASE_URL=(\S+)") == f"{url}/v1"
    read_until(process, "Ctrl-C")
    connection = HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request("POST", "/v1/messages", b'{"model":"tiny"}')
    assert connection.getresponse().read() == ANSWER
    # The line is there as soon as the answer is.
    read_until(process, r"^  0  ")
    process.send_signal(number)
    _, rest = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "1 request, " in rest
    assert len(exchanges(tmp_path / "s.cachediag")) == 1
    connection.close()


def test_a_kill_loses_nothing_that_was_complete(start, upstream, tmp_path):
    process = start("--upstream", upstream.url, "-o", "s.cachediag")
    url = read_until(process, r"^export ANTHROPIC_BASE_URL=(\S+)")
    read_until(process, "Ctrl-C")
    for number in range(3):
        connection = HTTPConnection(url.removeprefix("http://"), timeout=10)
        connection.request("POST", "/v1/messages", b'{"model":"tiny"}')
        assert connection.getresponse().read() == ANSWER
        connection.close()
        read_until(process, rf"^  {number}  ")
    process.kill()
    process.wait()
    assert [each.response for each in exchanges(tmp_path / "s.cachediag")] == [ANSWER] * 3


def test_a_second_recorder_of_the_same_file_is_told_of_and_loses_nothing(
    start, record, upstream, tmp_path
):
    first = start("--upstream", upstream.url, "-o", "s.cachediag")
    url = read_until(first, r"^export ANTHROPIC_BASE_URL=(\S+)")
    read_until(first, "Ctrl-C")
    done = record(
        "--upstream", upstream.url, "-o", "s.cachediag", "--", *client("message(0); message(1)")
    )
    assert done.returncode == 0
    told = [line for line in done.stderr.splitlines() if line.startswith("cachediag:")]
    assert told == [
        f"cachediag: s.cachediag: process {first.pid} is recording there as well; its requests and"
        " these will stand in one session"
    ]
    connection = HTTPConnection(url.removeprefix("http://"), timeout=10)
    connection.request("POST", "/v1/messages", b'{"model":"third"}')
    connection.getresponse().read()
    connection.close()
    read_until(first, r"^  2  ")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=20)
    assert [each.request for each in exchanges(tmp_path / "s.cachediag")] == upstream.bodies


def test_a_full_disk_is_told_once_and_the_client_is_not_harmed(record, upstream, tmp_path):
    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    done = record(
        "--upstream",
        upstream.url,
        "-o",
        "s.cachediag",
        "--",
        *client("""
            for number in range(12):
                body = {"model": "tiny", "messages": [], "x": os.urandom(50_000).hex()}
                assert b"silk" in post("ANTHROPIC_BASE_URL", "/v1/messages", body)
            # A small one still fits.
            message(12)
            sys.exit(3)
        """),
        preexec_fn=small_disk,
    )
    assert done.returncode == 3, done.stderr
    assert len(upstream.received) == 13
    told = [line for line in done.stderr.splitlines() if line.startswith("cachediag:")]
    assert len(told) == 1
    assert "the exchange was passed on unrecorded, later ones are tried again" in told[0]
    (lost,) = map(int, re.findall(r"(?m)^(\d+) exchanges? passed unrecorded$", done.stderr))
    kept = [each.request for each in exchanges(tmp_path / "s.cachediag")]
    assert 0 < len(kept) == 13 - lost < 13
    assert kept[:3] == upstream.bodies[:3]


def test_nobody_need_read_what_is_said(start, upstream, tmp_path):
    process = start(
        "--upstream",
        upstream.url,
        "-o",
        "s.cachediag",
        "--",
        *client("""
            sys.stdin.readline()
            for number in range(3):
                assert b"silk" in message(number)
            sys.exit(5)
        """),
        stdin=subprocess.PIPE,
    )
    read_until(process, "→")
    process.stderr.close()
    process.stdin.write("\n")
    process.stdin.close()
    assert process.wait(30) == 5
    assert len(exchanges(tmp_path / "s.cachediag")) == 3


def test_an_upstream_that_is_down_is_no_traceback(record):
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = record("--upstream", url, "--", *client('print("502" in message(0).decode())'))
    assert (done.returncode, done.stdout) == (0, "True\n")
    assert re.search(r"^  0  main .*! .*Connect call failed", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr
    before, _, after = done.stderr.partition("  #  lane")
    assert f"cachediag: nothing listens at {url} yet: start the server, or give" in before
    assert re.search(r"^No request was answered: .*Connect call failed", after, re.MULTILINE)
    assert "next   cachediag doctor --backend URL" in after
    assert "broke a prefix" not in after


def test_a_single_request_is_shown_and_not_compared(record, serve):
    upstream = serve(lambda request, reply: reply.stream(ANSWER))
    done = record("--upstream", upstream.url, "--", *client("message(0)"))
    assert "nothing listens" not in done.stderr
    assert done.stderr.endswith("\n\nnext   cachediag show   what was sent\n")


def test_captured_text_does_not_act_on_the_terminal(record, upstream):
    done = record(
        "--upstream",
        upstream.url,
        "--",
        *client(r"""
        evil = "\x1b[2J\u202e[red]x"
        for system in (evil, evil + evil):
            message = {"role": "user", "content": evil}
            body = {"model": evil, "system": system, "messages": [message], evil: evil}
            post("ANTHROPIC_BASE_URL", "/v1/messages?beta=true", body)
        post("ANTHROPIC_BASE_URL", "/v1/messages", {"model": evil, evil: [evil]})
    """),
    )
    assert len(re.findall(r"^  [012]  ", done.stderr, re.MULTILINE)) == 3
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr


def test_listening_beyond_this_machine_is_warned_of(record, upstream):
    done = record("--upstream", upstream.url, "--host", "0.0.0.0", "--", *client("message(0)"))
    assert "cachediag: WARNING: 0.0.0.0 can be reached from other machines." in done.stderr
    assert record("--upstream", upstream.url, "--", "true").stderr.count("WARNING") == 0


def test_while_a_client_has_the_terminal_nothing_is_printed_into_its_screen(
    upstream, tmp_path, environ
):
    pid, terminal = pty.fork()
    if pid == 0:
        script = 'print("screen begins"); message(0); message(1); print("screen ends")'
        words = ["record", "--upstream", upstream.url, "--", *client(script)]
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-m", "cachediag", *words], environ)
    said = read_all(terminal)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    before, _, rest = said.decode().replace("\r\n", "\n").partition("screen begins\n")
    screen, _, after = rest.partition("screen ends\n")
    assert before.startswith("recording to ")
    assert screen == ""
    assert re.search(r"^  0  main .*\n  1  main", after, re.MULTILINE)
    assert "2 requests, " in after


def test_ctrl_c_ends_the_client_and_the_recording_is_whole(upstream, tmp_path, environ):
    pid, terminal = pty.fork()
    if pid == 0:
        script = 'import time; message(0); print("waiting", flush=True); time.sleep(30)'
        words = ["record", "--upstream", upstream.url, "-o", "s.cachediag", "--", *client(script)]
        os.chdir(tmp_path)
        os.execve(sys.executable, [sys.executable, "-m", "cachediag", *words], environ)
    said = b""
    while b"waiting" not in said:
        said += os.read(terminal, 10_000)
    os.write(terminal, b"\x03")
    said += read_all(terminal)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    assert b"1 request, " in said
    assert len(exchanges(tmp_path / "s.cachediag")) == 1


SECRETS = (
    "header-secret-1111",
    "bearer-secret-2222",
    "cookie-secret-3333",
    "query-secret-4444",
    "userinfo-secret-5555",
    "custom-secret-6666",
    "set-cookie-secret-7777",
    "proxy-secret-8888",
    "mcp-secret-9999-long",
)


def stored_bytes(path: Path) -> bytes:
    """All that a session file gives away: its files as they are, its rows, its bodies."""
    seen = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    with Session.open(path) as session:
        for each in session.exchanges():
            seen += each.request + each.response + repr(each.info).encode()
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            for row in connection.execute(f"SELECT * FROM {table}"):
                seen += repr(row).encode()
    connection.close()
    return seen


def test_no_credential_reaches_the_file(record, serve, tmp_path):
    def answer(request, reply):
        # An upstream that says back everything it was told.
        told = f"bad key {dict(request.headers)} for {request.path}".encode() + request.body
        reply.body(
            told, 401, set_cookie="id=set-cookie-secret-7777; Path=/", x_echo=told.decode()[:900]
        )

    server = serve(answer)
    host = server.url.removeprefix("http://")
    done = record(
        "-o",
        "s.cachediag",
        "--",
        *client("""
            import base64
            from urllib.parse import urlsplit
            base = urlsplit(os.environ["ANTHROPIC_BASE_URL"])
            assert base.password == "userinfo-secret-5555"
            os.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{base.port}"
            basic = base64.b64encode(f"{base.username}:{base.password}".encode()).decode()
            def send(path, **headers):
                body = {"model": "m", "messages": [{"role": "user", "content": repr(headers)}]}
                body["mcp_servers"] = [{"authorization_token": "mcp-secret-9999-long"}]
                post("ANTHROPIC_BASE_URL", path, body, **headers)
            send("/v1/messages?beta=true&api_key=query-secret-4444", x_api_key="header-secret-1111")
            send("/v1/messages", authorization="Bearer bearer-secret-2222")
            send("/v1/messages", authorization=f"Basic {basic}")
            send("/v1/messages", cookie="session=cookie-secret-3333; theme=dark")
            send("/v1/messages", x_gateway_token="custom-secret-6666")
            send("/v1/messages", proxy_authorization="Bearer proxy-secret-8888")
            send("/other?key=query-secret-4444", x_api_key="header-secret-1111")
        """),
        env={"ANTHROPIC_BASE_URL": f"http://me:userinfo-secret-5555@{host}"},
    )
    assert done.returncode == 0, done.stderr
    path = tmp_path / "s.cachediag"
    seen = stored_bytes(path)
    assert len(server.received) == 7
    for secret in SECRETS:
        assert secret.encode() not in seen
        assert secret not in done.stderr
        # The secret was there to be found.
        if secret != "set-cookie-secret-7777":
            spelled = repr([(r.path, r.headers, r.body) for r in server.received])
            assert secret in spelled or secret == "userinfo-secret-5555"
    first = exchanges(path)[0]
    assert len(first.request) == len(server.bodies[0])
    assert first.info.path == "/v1/messages?beta=true&api_key=redacted"
    assert any("masked" in note for note in first.info.notes)


def test_a_refused_connection_gives_no_credential_away(record, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        host = f"127.0.0.1:{free.getsockname()[1]}"
    record(
        "--upstream",
        f"http://me:userinfo-secret-5555@{host}",
        "-o",
        "s.cachediag",
        "--",
        *client("""
            url = os.environ["ANTHROPIC_BASE_URL"]
            os.environ["ANTHROPIC_BASE_URL"] = f"http://{url.partition('@')[2]}"
            message(0, x_api_key="header-secret-1111")
        """),
    )
    seen = stored_bytes(tmp_path / "s.cachediag")
    assert b"Connect call failed" in seen
    assert b"userinfo-secret-5555" not in seen
    assert b"header-secret-1111" not in seen


def test_forward_mode_records_the_client_s_own_server_and_no_other(record, serve, tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    known = serve(lambda request, reply: reply.stream(ANSWER), tls=tls)
    other = serve(lambda request, reply: reply.body(b"other"), tls=tls)
    done = record(
        "--mode",
        "forward",
        "-o",
        "s.cachediag",
        "--",
        *client(f"""
            import ssl
            print(os.environ["ANTHROPIC_BASE_URL"])
            print("silk" in message(0).decode())
            post("ANTHROPIC_BASE_URL", "/telemetry", {{}})
            os.environ["OTHER"] = {other.url!r}
            print(post("OTHER", "/v1/messages", {{}}).decode())
            bundle = open(os.environ["SSL_CERT_FILE"]).read()
            print(open(os.environ["NODE_EXTRA_CA_CERTS"]).read().strip() in bundle)
        """),
        env={
            "ANTHROPIC_BASE_URL": known.url,
            "SSL_CERT_FILE": str(tmp_path / "ca.pem"),
            "NO_PROXY": "127.0.0.1",
        },
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{known.url}\nTrue\nother\nTrue\n"
    assert re.search(r"→ 127\.0\.0\.1:\d+, api\.openai\.com, api\.anthropic\.com\n", done.stderr)
    stored = [(each.info.endpoint, each.request) for each in exchanges(tmp_path / "s.cachediag")]
    assert stored == [("messages", known.bodies[0])]
    assert len(known.received) == 2
    assert len(other.received) == 1
