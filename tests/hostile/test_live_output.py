"""Poisoned text in what a single run of a command in this process does not reach.

Engines that measure, rows that appear as a session grows, names out of an object store, a proxy
through which a client chooses its server, and what the live demo prints between its steps.
"""

import json
import os
import pty
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest

from cachediag.cli import console
from cachediag.cli import demo as demo_command
from cachediag.demo.live.found import find
from cachediag.demo.live.outcome import EndReport, FoundReport, introduction
from cachediag.demo.live.steps import LiveDemo
from cachediag.lint.grammar import costs
from cachediag.lint.grammar.engine import ENGINES
from cachediag.session import Session
from tests.cli.running import ran
from tests.conftest import ROOT
from tests.hostile.poison import FILE_NAME, MARK, POISON, SOME, body, exchanges, record
from tests.hostile.test_output import is_document, unfit


@pytest.fixture(autouse=True)
def on_a_wide_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture
def some(tmp_path: Path) -> Path:
    path = tmp_path / f"{FILE_NAME}.cachediag"
    record(path, SOME)
    return path


@pytest.fixture
def store() -> Iterator[fsspec.AbstractFileSystem]:
    kept = fsspec.filesystem("memory")
    yield kept
    kept.store.clear()
    kept.pseudo_dirs[:] = [""]


def check(text: str) -> None:
    found = unfit(text.replace("\r\n", "\n"), is_terminal=True, is_live=True)
    assert not found, ascii(text)


def test_costs_of_poisoned_schemas(capsys, monkeypatch, some):
    monkeypatch.setitem(ENGINES, "scripted", "tests.lint.grammar.scripted")
    monkeypatch.setattr(costs, "installed", lambda: ({"scripted": "1.2"}, ("absent",)))
    done = ran(capsys, "lint", some, "--costs")
    assert done.code == 0, ascii(done.err)
    assert done.out.count(MARK) > 9
    check(done.out)
    check(done.err)
    is_document(ran(capsys, "lint", some, "--costs", "--format", "json").out)
    for option in ("--model", "--syntax"):
        done = ran(capsys, "lint", some, "--costs", option, FILE_NAME)
        assert done.code == 2
        check(done.err)


def test_names_out_of_an_object_store(capsys, store, some):
    content = some.read_bytes()
    # A store's own separator cannot be in a name.
    names = [text.replace("/", "|") for text in SOME]
    store.pipe({f"/runs/{name}.cachediag": content for name in names})
    store.pipe(f"/runs/bad{names[0]}.cachediag", b"\x1b[5m none")
    done = ran(capsys, "analyze", "memory://runs", "--workers", "1")
    assert done.code == 2, ascii(done.err)
    assert MARK in done.out
    check(done.out)
    check(done.err)
    document = ran(capsys, "analyze", "memory://runs", "--workers", "1", "--format", "json")
    is_document(document.out)
    for address in (f"memory://{names[0]}", f"memory://runs/*{names[1]}*", f"{names[1]}://x"):
        done = ran(capsys, "analyze", address)
        assert done.code == 2
        check(done.err)


def test_folders_and_files_of_many_sessions(capsys, some, tmp_path):
    folder = tmp_path / f"runs {FILE_NAME}"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}{FILE_NAME}.cachediag").write_bytes(some.read_bytes())
    (folder / f"none{FILE_NAME}.cachediag").write_text("none")
    (folder / f"passed over{FILE_NAME}.txt").write_text("none")
    done = ran(capsys, "analyze", folder, "--workers", "1")
    assert done.code == 2, ascii(done.err)
    assert MARK in done.out
    check(done.out)
    check(done.err)


def on_a_pty(words: list[str], until: Callable[[bytes], bool], more: Callable[[], object]) -> str:
    """What a command writes to a terminal, which is interrupted once it has written enough."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 500))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "cachediag", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    written = b""
    interrupted = False
    try:
        with suppress(OSError):
            while part := os.read(ours, 65536):
                written += part
                more()
                if not interrupted and until(written):
                    interrupted = True
                    process.send_signal(2)
        process.wait(30)
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        os.close(ours)
    return written.decode()


def test_a_session_that_is_followed(tmp_path):
    path = tmp_path / "live.cachediag"
    waiting = [replace(each, info=replace(each.info, index=-1)) for each in exchanges(SOME)]
    with Session.create(path) as made:

        def more() -> None:
            while waiting:
                made.append(waiting.pop(0))

        rows = sum(each.info.endpoint == "messages" for each in waiting)
        words = ["analyze", str(path), "--watch"]
        told = on_a_pty(words, lambda written: written.count(b"\n") > rows, more)
    assert told.count("\n") > rows
    check(told)


def test_a_client_that_keeps_its_server(serve, tmp_path, monkeypatch):
    """Its requests name lanes and paths, and the server's status line is the server's own."""

    def answer(request, reply):
        reply.raw(
            b"HTTP/1.1 500 \x1b[5;44mP0ISON\x9b\r\ncontent-length: 2\r\n"
            b"server: \x1b[5;44mP0ISON\x07\r\nx-\x1b[5m: \x9b\r\n\r\n{}"
        )

    server = serve(answer)
    client = tmp_path / "client.py"
    client.write_text(
        "import os, urllib.request\n"
        "for number in range(2):\n"
        f"    body = open({str(tmp_path)!r} + f'/{{number}}.json', 'rb').read()\n"
        "    headers = {'user-agent': 'x\\x9b5m[/]', 'x-claude-code-agent-id': '\\x1b[5m[/]'}\n"
        f"    asked = urllib.request.Request('{server.url}/v1/messages?%1b[5;44m', body, headers)\n"
        "    try:\n"
        "        urllib.request.urlopen(asked)\n"
        "    except OSError as error:\n"
        "        print('answered', error.code)\n"
    )
    for number in range(2):
        (tmp_path / f"{number}.json").write_text(json.dumps(body(SOME[0], number)))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    output = tmp_path / f"{FILE_NAME}.cachediag"
    words = ["record", "--mode", "forward", "-o", str(output), "--", sys.executable, str(client)]
    told = on_a_pty(words, lambda _: False, lambda: None)
    assert "2 requests" in told
    assert MARK in told
    check(told)


def test_what_the_live_demo_prints(capsys, some, tmp_path):
    """A client of the real vendor, and a server of the user's, say what they like."""
    choice = LiveDemo().choice()
    whole = [each for each in exchanges(SOME) if each.request.endswith(b"}")]
    with Session.create(tmp_path / f"2{FILE_NAME}.cachediag") as made:
        for each in whole:
            made.append(each)
    bad = find(made.path, choice, "".join(POISON.values()))
    console.out().print(FoundReport(bad))
    home = Path(f"/{FILE_NAME}")
    console.out().print(EndReport("demo-live", LiveDemo(), home))
    console.err().print(introduction(LiveDemo()))
    with demo_command._steps() as tell:
        for text in POISON.values():
            tell(text)
            tell(f"waiting {text}")
            demo_command._tell_steps(text)
    for each in exchanges(SOME):
        console.say(demo_command._stored(each))
    told = capsys.readouterr()
    assert MARK in told.out
    assert MARK in told.err
    check(told.out)
    check(told.err)
