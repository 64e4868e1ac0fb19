"""What shells are told when a word is to be completed, through the variables that they set."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cachediag.cli import completing
from cachediag.session import Session

ROOT = Path(__file__).parents[2]
HOSTILE = [
    "$(touch made)",
    "`touch made`",
    "a;touch made",
    "a b",
    "a'b",
    'a"b',
    "\\$(touch made)",
    "a\nb",
    "a\x1b[31mb",
    "-rf",
    "*",
    "a:b",
    "ünï",
]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "home"))
    sessions = tmp_path / "home" / "sessions"
    sessions.mkdir(parents=True)
    made = sessions / "demo.cachediag"
    Session.create(made, meta={}).close()
    for name in ("2026-11-29-2341", *HOSTILE):
        shutil.copy(made, sessions / f"{name}.cachediag")
    return tmp_path


def completed(shell, *words):
    """What the shell is told; the last word is the one to complete."""
    environment = {**os.environ, "_CACHEDIAG_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        environment |= {"COMP_WORDS": "\n".join(["cachediag", *words])}
        environment |= {"COMP_CWORD": str(len(words))}
    else:
        environment |= {"_TYPER_COMPLETE_ARGS": " ".join(["cachediag", *words])}
        environment |= {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run(
        [sys.executable, "-m", "cachediag"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.removesuffix("\n").split("\n")


@pytest.mark.parametrize("words", [("diff", ""), ("fix", "env", ""), ("show", "")], ids=" ".join)
def test_sessions_are_completed_and_names_that_a_shell_would_read_are_not(home, words):
    assert sorted(completed("bash", *words)) == ["2026-11-29-2341", "demo"]


def test_other_shells_get_the_same(home):
    assert completed("fish", "diff", "20") == ["2026-11-29-2341"]
    assert completed("zsh", "diff", "20") == ["_arguments '*: :((\"2026-11-29-2341\"))'"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("expl",), ["explain"]),
        (("rules", "c"), ["check"]),
        (("diff", "--pa"), ["--pair"]),
        (("diff", "--format", "j"), ["json"]),
    ],
)
def test_commands_options_and_choices(home, words, answer):
    assert completed("bash", *words) == answer


@pytest.mark.parametrize(
    ("names", "incomplete", "answer"),
    [
        (completing.codes, "V0", ["V01", "V02", "V03", "V04", "V05", "V06"]),
        (completing.profiles, "vllm", ["vllm", "vllm-mlx"]),
        (completing.engines, "llama", ["llama.cpp"]),
        (completing.tokenizers, "qwen3", ["qwen3", "qwen3.5", "qwen3.6"]),
        (completing.policies, "s", ["session-hash", "sagemaker", "sglang"]),
        (completing.exporters, "l", ["litellm"]),
        (completing.workloads, "sagemaker-c", ["sagemaker-chats"]),
        (completing.workloads, "d", ["demo"]),
    ],
)
def test_names(home, names, incomplete, answer):
    assert names(incomplete) == answer


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("explain", "V01"), ["V01"]),
        (("analyze", "--engine", "sgl"), ["sglang"]),
        (("analyze", "--profile", "anth"), ["anthropic"]),
        (("simulate", "--policy", "ran"), ["random"]),
        (("simulate", "hot"), ["hot-prefix"]),
        (("rules", "export", "rules.toml", "--to", "lite"), ["litellm"]),
    ],
)
def test_arguments_take_the_names_that_are_theirs(home, words, answer):
    assert completed("bash", *words) == answer


def test_rule_files_stand_before_sessions(home, monkeypatch):
    monkeypatch.chdir(home)
    for name in ("rules.toml", "$(touch made).toml"):
        (home / name).write_text("")
    first, *others = completing.sessions_and_rules("")
    assert first == "rules.toml"
    assert sorted(others) == ["2026-11-29-2341", "demo"]


def test_nothing_recorded_is_nothing_to_complete(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path / "none"))
    assert completing.sessions("") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_shown_and_the_shell_reads_it(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    command = [sys.executable, "-m", "cachediag", "--show-completion", shell]
    script = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"_CACHEDIAG_COMPLETE=complete_{shell}" in script
    if found := shutil.which(shell):
        command = [found, "-n"]
        read = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
        assert (read.returncode, read.stderr) == (0, "")


def test_bash_is_not_made_to_run_anything(home, monkeypatch):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    program = home / "cachediag"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m cachediag "$@"\n')
    program.chmod(0o700)
    script = f"""
    eval "$({program} --show-completion bash)"
    COMP_WORDS=(cachediag diff "") COMP_CWORD=2
    _cachediag_completion {program}
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = [bash, "--norc", "-c", script]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["2026-11-29-2341", "demo"]
    assert not (home / "made").exists()
