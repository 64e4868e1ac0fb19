"""`cachediag demo` as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import bare

SECONDS = 30
"""Twice what the demo may take, for machines that are busy with other tests."""


def run(*words: str, home: Path, cwd: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "cachediag", *words],
        cwd=cwd,
        env=bare(home) | env,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def shown(home: Path) -> "subprocess.CompletedProcess[str]":
    return run("demo", home=home, cwd=home)


def test_it_ends_well_and_says_first_what_is_made_up(
    shown: "subprocess.CompletedProcess[str]", home: Path
) -> None:
    assert shown.returncode == 0
    assert shown.stdout.startswith("Client, prompts and model server are made up. The proxy")
    assert shown.stderr == "recording 11 requests to demo.cachediag\n"


def test_the_first_broken_pair_is_shown_with_the_changed_characters(
    shown: "subprocess.CompletedProcess[str]",
) -> None:
    lines = shown.stdout.splitlines()
    assert "demo   11 requests   3 lanes" in lines
    assert "request 0 → 2   lane main   anthropic" in lines
    (place,) = [number for number, text in enumerate(lines) if text.startswith("  + ")]
    assert "cch=" in lines[place - 1]
    assert "cch=" in lines[place]
    assert lines[place + 1].strip() == "^^^^^"


def test_it_ends_with_the_cause_and_the_next_commands(
    shown: "subprocess.CompletedProcess[str]",
) -> None:
    *_, verdict, commands = shown.stdout.rstrip().split("\n\n")
    assert verdict.startswith("The cause is V01, billing header: system[0].text changed in 8 of 8")
    assert [line[7:].partition("   ")[0].rstrip() for line in commands.splitlines()] == [
        "cachediag diff demo",
        "cachediag show demo 0",
        "cachediag explain V01",
        "cachediag rules new demo -o rules.toml",
        "cachediag record -- claude",
    ]


def test_the_named_commands_work(
    shown: "subprocess.CompletedProcess[str]", home: Path, tmp_path: Path
) -> None:
    for words in (("diff", "demo"), ("show", "demo", "0"), ("explain", "V01")):
        done = run(*words, home=home, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout


def test_no_colour_in_a_pipe(shown: "subprocess.CompletedProcess[str]") -> None:
    assert "\x1b" not in shown.stdout + shown.stderr


def test_the_document(home: Path) -> None:
    done = run("demo", "--format", "json", home=home, cwd=home)
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert list(document) == [
        *("schema", "session", "requests", "lanes", "findings", "verdict", "next"),
    ]
    assert document["schema"] == "cachediag.demo/1"
    assert document["session"] == "demo"
    assert document["requests"] == 11
    assert document["lanes"] == [
        {"lane": "main", "kind": "turn", "requests": 7},
        {"lane": "title", "kind": "auxiliary", "requests": 1},
        {"lane": "agent", "kind": "subagent", "requests": 3},
    ]
    (finding,) = document["findings"]
    assert (finding["code"], finding["severity"]) == ("V01", "break")
    assert (finding["path"], finding["confidence"]) == ("system[0].text", "confirmed")
    assert (finding["requests"], finding["tokens_lost"]) == (8, None)
    assert "V01" in document["verdict"]
    assert document["next"][0] == "cachediag diff demo"


def test_a_file_of_that_name_does_not_stand_in_the_way(home: Path, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    document = json.loads(run("demo", "--format", "json", home=home, cwd=tmp_path).stdout)
    assert document["next"][0] == "cachediag diff demo.cachediag"
    done = run("diff", "demo.cachediag", home=home, cwd=tmp_path)
    assert done.stdout.startswith("demo   11 requests")


def test_a_home_that_cannot_be_written_is_one_line_and_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("demo", "--format", "json", home=tmp_path / "file" / "home", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        f"cachediag: {tmp_path}/file/home/sessions: cannot be made (Not a directory)",
        "           Set CACHEDIAG_HOME to a directory that can be written",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--release", "0.3.0"), "--release needs --live"),
        (("--client", "claude"), "--client needs --live"),
        (("--tokens", "0"), "--tokens needs --live"),
        (("--repeats", "1"), "--repeats needs --live"),
        (("--live", "--client", "claude", "--tokens", "9"), "--tokens has no effect on Claude"),
        (("--live", "--release", "new"), "is no release of vllm-mlx"),
    ],
)
def test_what_cannot_be_is_told_before_anything_happens(
    home: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = run("demo", *words, home=home, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[0]
    assert not (home / "sandbox").exists()
