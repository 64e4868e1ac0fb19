"""`cachediag fix env`: switches on the command line."""

import json

import pytest

from tests.cli.running import ran

HEADER = "CLAUDE_CODE_ATTRIBUTION_HEADER"


def test_shell_lines(capsys, home):
    done = ran(capsys, "fix", "env")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("# stock: 1 switch of Claude Code 2.1.113 removes V01.\n")
    code = [line for line in done.out.splitlines() if line and not line.startswith("#")]
    assert code == [f"export {HEADER}=0"]


def test_the_next_command_asks_for_the_same(capsys, home):
    options = ("--profile", "vllm-mlx@0.2.6", "--model", "qwen3", "--engine", "vllm-mlx:slots=2")
    out = ran(capsys, "fix", "env", "stock", *options[:4]).out
    assert out.endswith(f"# next   cachediag fix env stock {' '.join(options[:4])} --write\n")
    assert "--engine" not in out


def test_a_fragment(capsys, home):
    assert json.loads(ran(capsys, "fix", "env", "--settings").out) == {"env": {HEADER: "0"}}


def test_as_json(capsys, home):
    made = json.loads(ran(capsys, "fix", "env", "--format", "json").out)
    assert (made["schema"], made["session"]) == ("cachediag.fix-env/1", "stock")
    assert made["clients"] == [
        {"client": "Claude Code", "version": "2.1.113", "user_agent": None, "requests": 3}
    ]
    (switch,) = made["switches"]
    assert (switch["name"], switch["value"]) == (HEADER, "0")
    assert (switch["codes"], switch["requests"], switch["checked"]) == (["V01"], 2, "2026-11-29")
    assert (made["unanswered"], made["file"]) == ([], None)


def test_none_where_the_backend_removes_it(capsys, home):
    out = ran(capsys, "fix", "env", "--profile", "vllm-mlx@0.6.0", "--engine", "sglang").out
    assert out.startswith("# stock: nothing was found that a switch could remove.\n")
    assert "export" not in out


def test_written_into_the_users_settings_and_taken_back(capsys, home):
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    before = b'{\n  "model": "made-up" // mine\n}\n'
    path.write_bytes(before)
    done = ran(capsys, "fix", "env", "--write")
    assert done.code == 0
    assert done.out.startswith("~/.claude/settings.json: 1 switch set\n")
    assert "Claude Code reads no settings file with comments" in done.out
    assert b'"model": "made-up", // mine\n  "env": {\n' in path.read_bytes()
    again = ran(capsys, "fix", "env", "--write")
    assert again.out.startswith("~/.claude/settings.json: all set already")
    undone = ran(capsys, "fix", "env", "--undo")
    assert undone.out.startswith("~/.claude/settings.json is what it was before\n")
    assert path.read_bytes() == before


def test_another_file_by_its_path(capsys, home):
    path = home / "project" / ".claude" / "settings.local.json"
    made = json.loads(ran(capsys, "fix", "env", "--write", "--file", path, "--format", "json").out)
    assert made["file"] == {
        "path": str(path),
        "action": "written",
        "changes": [{"name": HEADER, "before": None, "after": "0"}],
        "kept": [],
        "plain_json": True,
        "backup": None,
    }
    assert json.loads(path.read_bytes()) == {"env": {HEADER: "0"}}
    undone = json.loads(ran(capsys, "fix", "env", "--undo", "--file", path, "--format", "json").out)
    assert (undone["session"], undone["switches"]) == (None, [])
    assert undone["file"]["action"] == "restored"
    assert not path.exists()
    again = json.loads(ran(capsys, "fix", "env", "--undo", "--file", path, "--format", "json").out)
    assert (again["file"]["action"], again["file"]["changes"]) == ("unchanged", [])


def test_the_clients_own_directory_for_settings(capsys, home, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "own"))
    ran(capsys, "fix", "env", "--write")
    assert (home / "own" / "settings.json").exists()
    assert not (home / ".claude").exists()


def test_nothing_is_written_where_no_switch_helps(capsys, home):
    options = ("--profile", "vllm-mlx@0.6.0", "--engine", "sglang")
    done = ran(capsys, "fix", "env", "--write", *options)
    assert done.out.startswith("# stock: nothing was found")
    assert not (home / ".claude").exists()
    made = json.loads(ran(capsys, "fix", "env", "--write", *options, "--format", "json").out)
    assert made["file"]["action"] == "unchanged"


def test_broken_settings_are_one_line_and_left_alone(capsys, home):
    path = home / "settings.json"
    path.write_text('{"env": {"A": "1"')
    done = ran(capsys, "fix", "env", "--write", "--file", path)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"cachediag: {path}: JSON ends too early (line 1, column 18)\n"
        "           Mend the file; nothing was changed.\n"
    )
    assert [each.name for each in home.iterdir() if each.is_file()] == ["settings.json"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--write", "--undo"), "give one of --settings, --write and --undo"),
        (("--settings", "--format", "json"), "--settings is JSON of its own"),
        (("--file", "x.json"), "--file goes with --write or --undo"),
        (("nowhere",), "nowhere"),
    ],
)
def test_wrong_usage(capsys, home, words, message):
    done = ran(capsys, "fix", "env", *words)
    assert done.code == 2
    assert message in done.err
