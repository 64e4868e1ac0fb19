"""Every command says in a line what it is for, and shows how it is called."""

import re
import shlex
from typing import Any

import pytest
import typer

from cachediag.cli import app
from tests.cli.running import ran

ROOT = typer.main.get_command(app)


def _all(command, *words):
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _all(inner, *words, name)


COMMANDS = dict(_all(ROOT))


def _examples(command):
    """The lines below `Examples:`, without what is said of each at its right."""
    _, _, below = (command.help or "").partition("Examples:\n")
    lines = below.split("\n\n")[0].splitlines()
    return [re.split(r" {3,}", line.strip())[0] for line in lines if line.strip()]


def _parse(words):
    """Let each command along the way take its words, and run none of them."""
    command: Any = ROOT
    context = None
    name = words.pop(0)
    while True:
        context = command.make_context(name, words, parent=context)
        if not hasattr(command, "commands"):
            return
        # Click keeps a group's own words apart from those of the command in it.
        words = [*getattr(context, "_protected_args", ()), *context.args]
        name, command, words = command.resolve_command(context, words)


def test_the_commands_are_all_there():
    assert {(), ("rules",), ("fix",), ("record",), ("fix", "strip")} <= COMMANDS.keys()
    assert len(COMMANDS) == 25


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_has_a_line_and_examples(words):
    command = COMMANDS[words]
    first = command.help.splitlines()[0]
    assert first.endswith(".")
    # In the list of commands a longer one is cut off.
    assert len(first) <= 64 or not words
    examples = _examples(command)
    assert 2 <= len(examples) <= 4
    # A group shows its commands, another command itself.
    called = " ".join(["cachediag", *words])
    assert all(called in example for example in examples)


@pytest.mark.parametrize(
    "example",
    dict.fromkeys(each for command in COMMANDS.values() for each in _examples(command)),
)
def test_an_example_is_understood(example):
    inner = re.fullmatch(r'eval "\$\((.*)\)"', example)
    words = shlex.split(inner[1] if inner else example)
    assert words[0] == "cachediag"
    _parse(words)


def test_a_wrong_example_would_not_be():
    with pytest.raises(typer.BadParameter.__mro__[1]):
        _parse(["cachediag", "rules", "new", "--out", "rules.toml"])


@pytest.mark.parametrize("words", [("--help",), ("rules", "--help"), ("fix", "--help")])
def test_no_purpose_is_cut_off(capsys, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    done = ran(capsys, *words)
    assert done.code == 0
    _, _, listed = done.out.partition("\nCommands:\n")
    assert listed.count(".\n") == len(listed.splitlines())
    assert "..." not in listed


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_a_terminal(capsys, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, ran(capsys, *words, "--help").out.splitlines())) <= 80


def test_a_group_alone_shows_its_help(capsys):
    done = ran(capsys, "rules")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: cachediag rules ")
    assert "\n    cachediag rules new -o rules.toml\n" in done.err


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        ("recrod", "no such command 'recrod'", "See: cachediag --help"),
        ("strip --rules a.toml", "no such command 'strip'", "Did you mean: cachediag fix strip"),
        ("rules chek", "rules: no such command 'chek'", "See: cachediag rules --help"),
        ("explain --al", "explain: no such option: --al", "See: cachediag explain --help"),
        ("diff --pear 1:2", "diff: no such option: --pear", "See: cachediag diff --help"),
        (
            "rules export a.toml -o b",
            "rules export: missing option '--to'",
            "See: cachediag rules export --help",
        ),
        (
            "analyze --format xml",
            "analyze: invalid value for '--format': 'xml' is not one of ",
            "See: cachediag analyze --help",
        ),
    ],
)
def test_a_slip_is_a_line_and_what_to_do(capsys, words, message, remedy):
    done = ran(capsys, *words.split())
    assert (done.code, done.out) == (2, "")
    first, second = done.err.splitlines()
    assert first.startswith(f"cachediag: {message}")
    assert second == f"           {remedy}"


def test_a_slip_near_a_command_names_it(capsys):
    assert "'record'" in ran(capsys, "recrod").err
