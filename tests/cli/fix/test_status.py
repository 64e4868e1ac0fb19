"""`cachediag fix status`: what is in place, on the command line."""

import json

from tests.cli.running import ran

HEADER = "CLAUDE_CODE_ATTRIBUTION_HEADER"


def test_switches_and_files(capsys, home, monkeypatch):
    ran(capsys, "fix", "env", "--write")
    (home / "project").mkdir()
    monkeypatch.chdir(home / "project")
    monkeypatch.setenv(HEADER, "1")
    lines = ran(capsys, "fix", "status").out.splitlines()
    assert lines[:3] == [
        "Claude Code   1 of 5 switches on",
        f"  on {HEADER}          V01      user: 0",
        "     environment: 1, which does not count",
    ]
    assert "  user     read, set by cachediag   ~/.claude/settings.json" in lines


def test_the_causes_of_a_session_on_a_backend(capsys, home):
    made = json.loads(
        ran(capsys, "fix", "status", "stock", "--profile", "vllm-mlx@0.3.0", "--format", "json").out
    )
    assert made["schema"] == "cachediag.fix-status/1"
    assert made["causes"] == [{"code": "V01", "requests": 2, "requests_left": 0, "switches_on": []}]
    assert made["backend"]["profile"] == "vllm-mlx@0.3.0"
    assert [cure["codes"] for cure in made["backend"]["cures"]] == [["V01"], ["S07"]]
    (client,) = made["clients"]
    assert {each["state"] for each in client["switches"]} == {"unset"}


def test_without_a_session_none_is_looked_at(capsys, home):
    made = json.loads(ran(capsys, "fix", "status", "--format", "json").out)
    assert (made["backend"], made["causes"]) == (None, None)


def test_a_profile_that_there_is_not(capsys, home):
    done = ran(capsys, "fix", "status", "--profile", "nobody")
    assert (done.code, done.out) == (2, "")
