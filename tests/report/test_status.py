"""What is in place, as a person reads it."""

import json
from pathlib import Path

import pytest

from cachediag.fix.settings import write
from cachediag.fix.status import Cause, backend, client
from cachediag.fix.switches import clients
from cachediag.render import profile
from cachediag.report.status import StatusReport
from tests.report.test_diff import shown

(CLAUDE,) = clients()
HEADER = "CLAUDE_CODE_ATTRIBUTION_HEADER"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    return tmp_path


def state(home: Path, **environ: str):
    return client(CLAUDE, {"HOME": str(home), **environ}, home / "project")


def test_nothing_in_place(home):
    assert shown(StatusReport((state(home),))).splitlines() == [
        "Claude Code   0 of 5 switches on",
        "     CLAUDE_CODE_ATTRIBUTION_HEADER          V01      not set",
        "     CLAUDE_CODE_TOTAL_TOKENS_REMINDER       S07      not set",
        "     CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS    V05/M06  not set",
        "     CLAUDE_CODE_DISABLE_TERMINAL_TITLE      P01/P02  not set",
        "     ENABLE_PROMPT_CACHING_1H                M05      not set",
        "",
        "  local    not there                ~/project/.claude/settings.local.json",
        "  project  not there                ~/project/.claude/settings.json",
        "  user     not there                ~/.claude/settings.json",
        "",
        "next   cachediag fix env   which switches help",
    ]


def test_what_is_set_and_what_wins(home):
    write(home / ".claude/settings.json", {HEADER: "0", "ENABLE_PROMPT_CACHING_1H": "1"})
    project = home / "project/.claude/settings.json"
    project.write_text(json.dumps({"env": {HEADER: "\x1b[1m"}}))
    (home / "project/.claude/settings.local.json").write_text("{ // mine\n}")
    assert shown(StatusReport((state(home, B="1"),))).splitlines() == [
        "Claude Code   1 of 5 switches on",
        f"  !  {HEADER}          V01      project: \\e[1m",
        "     wanted: 0",
        "     user: 0, which does not count",
        "     CLAUDE_CODE_TOTAL_TOKENS_REMINDER       S07      not set",
        "     CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS    V05/M06  not set",
        "     CLAUDE_CODE_DISABLE_TERMINAL_TITLE      P01/P02  not set",
        "  on ENABLE_PROMPT_CACHING_1H                M05      user: 1",
        "",
        "  local    not read: has comments   ~/project/.claude/settings.local.json",
        "  project  read                     ~/project/.claude/settings.json",
        "  user     read, set by cachediag   ~/.claude/settings.json",
        "",
        "next   cachediag fix env          which switches help",
        "       cachediag fix env --undo   take back what was set",
    ]


def test_a_broken_file_says_where(home):
    (home / "project/.claude/settings.json").write_text('{"env"')
    assert (
        "  project  not read                 ~/project/.claude/settings.json\n"
        "           JSON ends too early (line 1, column 7)\n"
    ) in shown(StatusReport((state(home),)))


def test_a_backend(home):
    report = StatusReport((), backend(profile("vllm-mlx@0.3.0"), "messages"))
    assert shown(report).splitlines() == [
        "vllm-mlx@0.3.0   what it does of its own",
        "  V01    deletes the billing header from the system prompt, /v1/messages",
        "         Such a line of a user's own text goes too, where it became part of the",
        "         system prompt.",
        "         a rule for it would change nothing there",
        "         read in 0.2.8 to 0.4.1, run in 0.3.0, 2026-11-29",
        "         https://github.com/waybarrios/vllm-mlx/pull/277",
        "  S07    leaves system messages inside the conversation where they are,",
        "         /v1/messages",
        "         a rule for it would change nothing there",
        "         run in 0.3.0, 2026-11-29",
        "         https://pypi.org/project/vllm-mlx/0.3.0/",
        "  cache  keeps no prefix cache",
        "",
        "next   cachediag fix env   which switches help",
    ]


def test_a_backend_of_which_nothing_is_known():
    text = shown(StatusReport((), backend(profile("generic"))))
    assert "  cache  nothing is known of its cache\n" in text


def test_the_causes_come_first():
    found = (Cause("V01", 9, 0, (HEADER,)), Cause("V05", 1, 1, ()))
    behind = backend(profile("vllm-mlx@0.6.0"))
    lines = shown(StatusReport((), behind, found, "stock")).splitlines()
    assert lines[:5] == [
        "2 causes found, 1 not taken care of",
        "  V01 billing header                          in 9 requests, none left",
        f"    with {HEADER}, vllm-mlx@0.6.0",
        "  ✗ V05 environment snapshot                  in 1 request, 1 left",
        "    with vllm-mlx@0.6.0",
    ]
    assert lines[-1] == "next   cachediag fix env stock   which switches help"


def test_causes_alone():
    assert shown(StatusReport((), None, (Cause("V05", 2, 2, ()),))).splitlines()[:2] == [
        "1 cause found, 1 not taken care of",
        "  ✗ V05 environment snapshot                  in 2 requests",
    ]
    assert shown(StatusReport((), None, (Cause("V05", 2, 0, ("A",)),))).startswith(
        "1 cause found, all taken care of\n"
    )
    assert shown(StatusReport((), None, ())).startswith(
        "No request broke a prefix shared with an earlier one.\n"
    )
