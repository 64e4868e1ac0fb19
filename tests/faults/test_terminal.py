"""A terminal that takes nothing any more, as after Ctrl-S."""

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress

from tests.cli.running import bare
from tests.conftest import Received
from tests.faults.net import PATIENCE, Net, Reply, ask
from tests.faults.recorder import Recorder
from tests.fix.material import TOML


def test_a_terminal_that_has_stalled_stops_neither_traffic_nor_storing(net: Net, tmp_path):
    async def answer(request: Received, reply: Reply) -> None:
        await reply.body(b"answer to " + request.body)

    async def side_by_side(url: str, requests: list[bytes]) -> list[bytes]:
        return [each.body for each in await asyncio.gather(*(ask(url, it) for it in requests))]

    net.answer = answer
    terminal = tmp_path / "terminal"
    os.mkfifo(terminal)
    screen = os.open(terminal, os.O_RDONLY | os.O_NONBLOCK)
    filling = os.open(terminal, os.O_WRONLY | os.O_NONBLOCK)
    path = tmp_path / "s.cachediag"
    with terminal.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "cachediag", "record", "--upstream", net.url, "-o", str(path)],
            env=bare(tmp_path / "home"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    try:
        os.set_blocking(screen, True)
        said = b""
        while b"Ctrl-C ends" not in said:
            said += os.read(screen, 4096)
        found = re.search(rb"^127\.0\.0\.1:\d+", said, re.MULTILINE)
        assert found
        url = f"http://{found[0].decode()}"
        with suppress(BlockingIOError):
            while True:
                os.write(filling, b"." * 100)
        requests = [b'{"model":"m-%d"}' % number for number in range(40)]
        assert net.run(side_by_side(url, requests)) == [b"answer to " + each for each in requests]
        stored = Recorder(process, path, terminal).stored(len(requests))
        assert sorted(each.request for each in stored) == sorted(requests)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        os.close(screen)
        os.close(filling)


def test_a_terminal_that_stalls_below_a_status_line_does_not_hold_up_the_end(net: Net, tmp_path):
    (tmp_path / "rules.toml").write_text(TOML)
    screen, terminal = pty.openpty()
    # Unlike the recorder's, this one can be written to until the terminal takes no more.
    filling = os.open(os.ttyname(terminal), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    words = ("record", "--upstream", net.url, "-o", "s.cachediag", "--rules", "rules.toml")
    process = subprocess.Popen(
        [sys.executable, "-m", "cachediag", *words],
        cwd=tmp_path,
        env=bare(tmp_path / "home") | {"TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
    )
    try:
        said = b""
        while b"0 of 0 requests" not in said:
            said += os.read(screen, 4096)
        with suppress(BlockingIOError):
            while True:
                os.write(filling, b"." * 100)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        for each in (screen, terminal, filling):
            os.close(each)
