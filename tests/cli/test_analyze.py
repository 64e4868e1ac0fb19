"""`cachediag analyze`: following a recording, and what it says at the end."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest

from cachediag.model import Exchange, Usage
from cachediag.session import Session
from tests.analysis.sessions import main, recorded, reporting, sub_agent
from tests.cli.running import ran

SONNET = "claude-sonnet-4-6"
LONG = "Keep the harbour's rules. " * 1_000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def body(*turns: str, header: str) -> dict[str, Any]:
    made = main(*turns, header=header)
    made["model"] = SONNET
    made["system"][1]["text"] = LONG
    return made


BODIES = [
    body(header="aaaa1"),
    body("t1", header="aaaa2"),
    sub_agent("Look", header="aaaa3"),
    body("t1", "t2", header="aaaa4"),
]


def store(path: Path, exchanges: Sequence[Exchange]) -> Path:
    with Session.create(path) as made:
        for exchange in exchanges:
            made.append(exchange)
    return path


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return store(tmp_path / "berths.cachediag", reporting(recorded(BODIES), {}))


Follow = Callable[..., "Followed"]


class Followed:
    """`analyze --watch` in a process of its own, and the lines that it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._lines: Queue[str] = Queue()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip())

    def line(self) -> str:
        """The next line; a test fails where none comes."""
        return self._lines.get(timeout=60)

    def is_quiet(self) -> bool:
        """Nothing more was printed."""
        return self._lines.empty()

    def interrupt(self) -> int:
        """Press Ctrl-C; give the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


@pytest.fixture
def follow() -> Iterator[Follow]:
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> Followed:
        command = [sys.executable, "-m", "cachediag", "analyze", "--watch", *map(str, arguments)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "PYTHONUTF8": "1"},
        )
        started.append(process)
        return Followed(process)

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_recording_is_followed_line_by_line_until_it_is_interrupted(
    tmp_path: Path, follow: Follow
) -> None:
    path = tmp_path / "live.cachediag"
    exchanges = reporting(recorded(BODIES), {})
    with Session.create(path) as made:
        made.append(exchanges[0])
        followed = follow(path, "--profile", "vllm-mlx@0.2.6", "--model", "qwen2.5")
        assert followed.line().split()[:4] == ["#", "lane", "kind", "prompt"]
        assert followed.line().split()[:3] == ["0", "main", "turn"]
        assert followed.is_quiet()
        made.append(exchanges[1])
        second = followed.line()
        assert second.split()[:3] == ["1", "main", "turn"]
        assert second.endswith("✗ V01 system[0].text")
        made.append(exchanges[2])
        assert followed.line().split()[:3] == ["2", "agent", "subagent"]
    assert followed.interrupt() == 130
    assert followed.is_quiet()
    assert followed.process.stderr is not None
    assert followed.process.stderr.read() == ""


def test_one_lane_is_followed_and_counts_are_what_is_reported(
    tmp_path: Path, follow: Follow
) -> None:
    path = tmp_path / "live.cachediag"
    usages = {1: Usage(input_tokens=5_000), 3: Usage(input_tokens=5_100)}
    exchanges = reporting(recorded(BODIES), usages)
    with Session.create(path) as made:
        followed = follow(path, "--lane", "main")
        followed.line()
        for exchange in exchanges:
            made.append(exchange)
        rows = [followed.line().split()[:4] for _ in range(3)]
    assert [row[0] for row in rows] == ["0", "1", "3"]
    # The first is still an estimate.
    assert rows[1][3] == "5,000"
    assert followed.interrupt() == 130


@pytest.mark.parametrize("format_", ["json", "jsonl", "csv"])
def test_what_is_followed_has_no_end(
    capsys: pytest.CaptureFixture[str], session: Path, format_: str
) -> None:
    done = ran(capsys, "analyze", session, "--watch", "--format", format_)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("cachediag: --watch: a session that is followed has no end")


def test_a_file_that_does_not_grow_is_not_followed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = tmp_path / "bodies.jsonl"
    lines.write_bytes(b"\n".join(exchange.request for exchange in recorded(BODIES)))
    done = ran(capsys, "analyze", lines, "--watch")
    assert (done.code, done.out) == (2, "")
    assert "only a session file can be followed" in done.err


def test_the_end_says_what_is_lost_and_why_and_the_next_command(
    capsys: pytest.CaptureFixture[str], session: Path
) -> None:
    done = ran(capsys, "analyze", session, "--prefill-rate", "100", "--profile", "vllm-mlx@0.2.6")
    end = done.out[done.out.index(" prompt tokens were prefilled again") - 20 :]
    made = json.loads(
        ran(capsys, "analyze", session, "--profile", "vllm-mlx@0.2.6", "--format", "json").out
    )
    lost, total = made["totals"]["avoidable_tokens"], made["totals"]["prompt_tokens"]
    assert f"{lost:,} of {total:,} prompt tokens were prefilled again" in " ".join(end.split())
    minutes, seconds = divmod(round(lost / 100), 60)
    assert f": about {minutes} min {seconds} s of waiting." in " ".join(end.split())
    assert "\nV01, billing header in system[0].text, costs " in end
    assert "\n\nnext   cachediag diff " in end
    assert end.rstrip().endswith(" --profile vllm-mlx@0.2.6 -o rules.toml")
    assert re.search(r"--pair \d:\d --profile vllm-mlx@0.2.6", end)


def test_a_hosted_session_is_told_in_money_of_a_date(
    capsys: pytest.CaptureFixture[str], session: Path
) -> None:
    text = ran(capsys, "analyze", session).out
    made = json.loads(ran(capsys, "analyze", session, "--format", "json").out)
    totals = made["totals"]
    # The sub-agent asks a model that nobody knows.
    assert (totals["prices_as_of"], totals["priced_requests"]) == ("2026-09", 3)
    assert made["requests"][2]["usd"] is None
    usd = sum(request["usd"] or 0 for request in made["requests"])
    assert totals["usd"] == pytest.approx(usd)
    assert totals["avoidable_usd"] == pytest.approx(
        sum(cause["usd"] or 0 for cause in made["causes"])
    )
    assert 0 < totals["avoidable_usd"] < totals["usd"]
    assert "tokens again    more USD" in text
    assert "more than read from the cache, at prices of 2026-09, known for 3 of 4 requests" in text
    assert " more than from the cache.\n" in text


def test_a_calibrated_session_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    usages = {0: Usage(input_tokens=10, cache_creation=5_000), 1: Usage(input_tokens=5_200)}
    path = store(tmp_path / "told.cachediag", reporting(recorded(BODIES), usages))
    text = ran(capsys, "analyze", path).out
    assert "cache anthropic   estimate\ntokens calibrated on 2 reported usages\n" in text
    made = json.loads(ran(capsys, "analyze", path, "--format", "json").out)
    assert made["calibrated_usages"] == 2
    assert not made["exact"]
    first, second, agent, third = made["requests"]
    assert first["prompt_tokens"] + second["prompt_tokens"] == pytest.approx(10_210, abs=1)
    assert third["exact"] is False
    factors = {lane["lane"]: lane["token_factor"] for lane in made["lanes"]}
    assert factors["main"] != 1.0
    # It asks another model, of which nothing is reported.
    assert factors["agent"] == 1.0
    assert agent["prompt_tokens"] > 0
    rows = ran(capsys, "analyze", path, "--format", "jsonl").out.splitlines()
    assert json.loads(rows[0])["prompt_tokens"] == first["prompt_tokens"]
    diff = json.loads(ran(capsys, "diff", path, "--pair", "0:1", "--format", "json").out)
    assert diff["calibrated_usages"] == 2
    assert diff["prompt_tokens"] == {
        "a": first["prompt_tokens"],
        "b": second["prompt_tokens"],
        "exact": False,
    }
    shown = ran(capsys, "diff", path, "--pair", "0:1").out
    assert "   estimate\ntokens calibrated on 2 reported usages\n" in shown
    pairs = json.loads(ran(capsys, "diff", path, "--format", "json").out)["pairs"]
    assert pairs[1]["prompt_tokens"]["b"] == 5_200
    assert pairs[1]["calibrated_usages"] == 1
