"""`cachediag demo --live` on a real engine.

All that is asserted is what the engine counted; how fast it was is nobody's promise here.
"""

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cachediag.demo.live.claude import TURNS, VERSION
from cachediag.demo.live.found import find
from cachediag.demo.live.recorded import Told, record_claude
from cachediag.demo.live.steps import LiveDemo
from cachediag.demo.script import Step
from cachediag.demo.upstream import replying
from cachediag.verify.backends import Live
from tests.live.clients import claude_code
from tests.live.engines_packages import live_sandbox
from tests.live.home import SMALL, Home, home_at


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return home_at(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def demo(home: Home) -> dict[str, Any]:
    done = home.run("demo", "--live", *SMALL, "--format", "json")
    assert done.code == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def requests(document: dict[str, Any], arm: str) -> list[dict[str, Any]]:
    return [each for each in document["requests"] if each["arm"] == arm]


def test_what_was_recorded_and_found(demo: dict[str, Any]) -> None:
    assert demo["schema"] == "cachediag.verify/1"
    assert demo["recording"]["requests"] == 4
    assert demo["recording"]["prefix_tokens"] > 3_000
    (finding,) = demo["findings"]
    assert (finding["code"], finding["path"], finding["requests"]) == ("V01", "system[0].text", 3)
    assert [(rule["id"], rule["enabled"]) for rule in demo["rules"]] == [
        ("strip-billing-header", True)
    ]


def test_four_arms_two_effects_and_their_interaction(demo: dict[str, Any]) -> None:
    assert [arm["name"] for arm in demo["arms"]] == [
        *("as-recorded", "rules-only", "patch-only", "both"),
    ]
    assert {name: bool(effect) for name, effect in demo["effects"].items()} == {
        "rules": True,
        "patch": True,
        "both": True,
        "interaction": True,
    }
    assert (demo["exact"], demo["complete"], demo["predicted_reuse_came"]) == (True, True, True)


def test_neither_fix_alone_lets_the_engine_reuse_anything(demo: dict[str, Any]) -> None:
    for arm in ("as-recorded", "rules-only"):
        assert [each["measured_reused_tokens"] for each in requests(demo, arm)] == [0] * 4
    # The few tokens before the header.
    reused = [each["measured_reused_tokens"] for each in requests(demo, "patch-only")]
    assert reused[0] == 0
    assert max(reused) < 40


def test_both_leave_only_what_is_new(demo: dict[str, Any]) -> None:
    both = requests(demo, "both")
    assert [each["measured_reused_tokens"] for each in both] == [
        each["predicted_reused_tokens"] for each in both
    ]
    assert both[0]["measured_reused_tokens"] == 0
    for before, each in itertools.pairwise(both):
        # A prompt is kept but for its last tokens, which the reply's beginning takes the place of.
        assert 0 <= before["prompt_tokens"] - each["measured_reused_tokens"] < 8


def test_nothing_is_left(demo: dict[str, Any], home: Home) -> None:
    assert (home.left, home.processes) == ([], [])
    assert [path.name for path in (home.path / "sessions").iterdir()] == ["demo-live.cachediag"]


def test_ctrl_c_ends_all_that_was_started(demo: dict[str, Any], home: Home) -> None:
    before = (home.path / "sessions" / "demo-live.cachediag").read_bytes()
    words = [sys.executable, "-m", "cachediag", "demo", "--live", *SMALL]
    with subprocess.Popen(
        words, env=home.env, cwd=home.path, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("recording to"):
                break
        # In the middle of the first prefill.
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        assert process.wait(30) == 130
    assert (home.left, home.processes) == ([], [])
    assert (home.path / "sessions" / "demo-live.cachediag").read_bytes() == before


def test_claude_code_plays_its_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real client. Its prompts would take the engine minutes, so that is a stand-in."""
    command = claude_code(VERSION)
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    monkeypatch.setattr("cachediag.demo.live.recorded.claude_code", lambda _: command)
    told: list[str] = []
    said = Step(({"type": "text", "text": "All is well on board."},))
    with replying(lambda _: said) as engine:
        live, ear = Live(engine.url, "sandbox"), Told(told.append, lambda _: None)
        path = record_claude(live, live_sandbox(), LiveDemo().meta, ear)
    found = find(path, LiveDemo().choice(), "qwen2.5")
    assert len(engine.received) == len(found.requests) == 3
    assert {json.loads(body)["model"] for body in engine.received} == {"sandbox"}
    assert {request.lane for request in found.requests} == {"main"}
    assert [(each.finding.code, each.finding.path, each.requests) for each in found.causes] == [
        ("V01", "system[0].text", 2)
    ]
    assert [rule.id for rule in found.generated.ruleset.enabled] == ["strip-billing-header"]
    assert len(told) == 1 + len(TURNS)
