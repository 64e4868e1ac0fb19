"""The system's clock is set back and forward by an hour while exchanges go on."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from tests.cli.running import ran
from tests.conftest import Received
from tests.faults.net import PATIENCE, Net, Reply, ask
from tests.faults.recorder import recording

# Loaded before anything else asks what time it is; the file says by how much it is off.
SET_ANEW = """
import time
from pathlib import Path

real, off = time.time, Path({off!r})
time.time = lambda: real() + float(off.read_text())

from cachediag.cli import main

main()
"""
EVENT = b'data: {"type":"content_block_delta","delta":{"text":"silk"}}\n\n'
HOUR = 3600.0


def turn(number: int) -> dict[str, Any]:
    """A conversation of so many turns, with a marker that keeps its system prompt for 5 minutes."""
    rule = " ".join(f"Rule {n}: write plainly, and test what you write." for n in range(600))
    system = [{"type": "text", "text": rule, "cache_control": {"type": "ephemeral"}}]
    said = [{"role": "user", "content": f"step {n}"} for n in range(number + 1)]
    return {"model": "claude-sonnet-4-5", "system": system, "messages": said}


def test_setting_the_clock_changes_neither_order_nor_durations(net: Net, tmp_path: Path, capsys):
    off = tmp_path / "off"
    off.write_text("0")
    # Set in mid-stream before the first token, after it, and back to what is right.
    steps = [("before", -HOUR), ("after", HOUR), ("before", 0.0), ("after", -HOUR)]
    at: list[tuple[str, float]] = []

    def set_clock(when: str) -> None:
        if at and at[0][0] == when:
            fresh = off.with_suffix(".fresh")
            fresh.write_text(str(at.pop()[1]))
            fresh.replace(off)

    async def answer(_: Received, reply: Reply) -> None:
        await reply.events()
        await reply.chunk(b'data: {"type":"message_start"}\n\n')
        set_clock("before")
        await asyncio.sleep(0.05)
        await reply.chunk(EVENT)
        set_clock("after")
        await asyncio.sleep(0.05)
        await reply.end()

    net.answer = answer
    program = ("-c", SET_ANEW.format(off=str(off)))
    took = []
    with recording(net.url, tmp_path, program=program) as recorder:
        for number, step in enumerate(steps):
            at[:] = [step]
            began = time.monotonic()
            assert net.run(ask(recorder.url, turn(number))).whole
            took.append(time.monotonic() - began)
            assert at == []
        infos = [each.info for each in recorder.stored(len(steps))]
        assert recorder.end() == 0

    times: list[float] = []
    for info, seconds in zip(infos, took, strict=True):
        assert info.started is not None
        assert info.first_token is not None
        assert info.ended is not None
        assert 0.04 < info.first_token - info.started < info.ended - info.started < seconds
        times += [info.started, info.first_token, info.ended]
    assert times == sorted(times)
    assert times[-1] - times[0] < 4 * PATIENCE

    shown = ran(capsys, "analyze", recorder.path, "--profile", "anthropic", "--format", "json")
    requests = json.loads(shown.out)["requests"]
    assert [(each["index"], each["parent"]) for each in requests] == [
        (0, None), (1, 0), (2, 1), (3, 2)
    ]  # fmt: skip
    codes = {finding["code"] for each in requests for finding in each["findings"]}
    assert codes == {"N01", "N03"}
