import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cachediag.cli import app
from tests.lint.sessions import messages, tool

CLOSED = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
UNIQUE = {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "uniqueItems": True}


@pytest.fixture
def body(tmp_path: Path) -> Path:
    path = tmp_path / "body.json"
    path.write_text(json.dumps(messages(tool(UNIQUE))), encoding="utf-8")
    return path


def run(*words: object):
    return CliRunner().invoke(app, ["lint", *map(str, words)])


def test_one_body(body: Path) -> None:
    done = run(body)
    assert done.exit_code == 0, done.output
    assert "Nothing in these schemas costs" in done.stdout


def test_ends_with_1_where_something_costs(body: Path) -> None:
    done = run(body, "--decoder", "xgrammar")
    assert done.exit_code == 1
    assert "G02 keyword is ignored" in done.stdout
    document = json.loads(run(body, "--decoder", "xgrammar", "--format", "json").stdout)
    assert [each["name"] for each in document["decoders"]] == ["xgrammar"]
    assert document["totals"]["costly"] == 1


def test_several_decoders(body: Path) -> None:
    done = run(body, "--decoder", "xgrammar", "--decoder", "llguidance", "--format", "json")
    assert done.exit_code == 0
    verdicts = json.loads(done.stdout)["schemas"][0]["verdicts"]
    assert [each["outcome"] for each in verdicts] == ["ignores", "rejects"]


def test_a_decoder_that_there_is_not(body: Path) -> None:
    done = run(body, "--decoder", "guidance")
    assert done.exit_code == 2


def test_changed_tools_are_counted_by_the_model_that_is_named(tmp_path: Path) -> None:
    later = messages(tool(CLOSED), tool(CLOSED, "b"))
    later["messages"] = [*later["messages"], {"role": "user", "content": "And now?"}]
    for name, made in (("0.json", messages(tool(CLOSED))), ("1.json", later)):
        (tmp_path / name).write_text(json.dumps(made), encoding="utf-8")
    words = (tmp_path, "--format", "json", "--profile", "vllm-mlx@0.6.0", "--model", "qwen3")
    done = run(*words)
    assert done.exit_code == 1, done.output
    codes = [each["code"] for each in json.loads(done.stdout)["findings"]]
    assert codes[0] == "G09"


def test_something_that_is_no_session(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("plain", encoding="utf-8")
    assert run(path).exception is not None
