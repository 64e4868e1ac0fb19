"""The relay between Claude Code and an engine, and running the client: with stand-ins for both."""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cachediag.backends.sandbox import Sandbox
from cachediag.demo.live.claude import VERSION, claude_code, relayed, take_turns
from cachediag.errors import UpstreamError, UsageError

TOOL = {"name": "Bash", "input_schema": {}}
ENGINE = (
    b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"All is well."}}\n\n'
)


def asked(url: str, *messages: dict[str, Any], tools: bool = True) -> list[dict[str, Any]]:
    """The content blocks of the reply."""
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 32_000,
        "messages": messages,
        "tools": [TOOL] if tools else [],
        "stream": True,
    }
    data = json.dumps(body).encode()
    with urllib.request.urlopen(f"{url}/v1/messages?beta=true", data) as response:
        lines = response.read().splitlines()
    events = [json.loads(line[5:]) for line in lines if line.startswith(b"data:")]
    return [event["content_block"] for event in events if event["type"] == "content_block_start"]


USER = {"role": "user", "content": "Count."}
SAID = {"role": "assistant", "content": "I look."}


def test_the_engine_is_asked_and_the_script_answers(serve: Callable[..., Any]) -> None:
    engine = serve(lambda _, reply: reply.stream(ENGINE))
    with relayed(engine.url, "sandbox") as (url, failed):
        first = asked(url, USER)
        later = asked(url, USER, SAID, USER)
        title = asked(url, USER, tools=False)
    assert [block["type"] for block in first] == ["text", "tool_use"]
    assert first[1]["name"] == "Bash"
    assert [block["type"] for block in later] == ["text"]
    assert [block["type"] for block in title] == ["text"]
    assert failed == []
    sent = [json.loads(each.body) for each in engine.received]
    assert [each["model"] for each in sent] == ["sandbox"] * 3
    assert [len(each["messages"]) for each in sent] == [1, 3, 1]
    assert {each["max_tokens"] for each in sent} == {1}


def test_an_engine_that_fails_is_a_bad_gateway_and_told(serve: Callable[..., Any]) -> None:
    engine = serve(lambda _, reply: reply.body(b"out of memory", 500))
    with (
        relayed(engine.url, "sandbox") as (url, failed),
        pytest.raises(urllib.error.HTTPError, match="502"),
    ):
        asked(url, USER)
    assert [str(error) for error in failed] == [
        f"{engine.url}/v1/messages: HTTP 500: out of memory"
    ]


def client(tmp_path: Path, source: str) -> Path:
    """A command that stands in for the client."""
    command = tmp_path / "claude"
    command.write_text(f"#!{sys.executable}\nimport os, sys\n{source}\n")
    command.chmod(0o700)
    return command


def test_the_client_takes_both_turns_in_a_home_that_is_gone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = "os.environ['HOME'], sys.argv[1:], sorted(os.listdir())"
    source = f"print({said}, file=open({str(log)!r}, 'a'))"
    told: list[str] = []
    take_turns(client(tmp_path, source), "http://127.0.0.1:9", told.append, [])
    first, second = log.read_text().splitlines()
    home = Path(first.partition(" ")[0])
    assert not home.exists()
    assert "'Count the tide tables in this directory.', '--allowedTools', 'Bash'" in first
    assert "'--continue'" in second
    assert "['brightsand.txt', 'kelpwick.txt']" in first
    assert told == [
        "claude -p 'Count the tide tables in this directory.'",
        "claude -p 'And how many of them are empty?' --continue",
    ]


def test_nothing_of_the_users_environment_reaches_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret")
    log = tmp_path / "log"
    source = f"print(dict(os.environ), file=open({str(log)!r}, 'a'))"
    take_turns(client(tmp_path, source), "http://127.0.0.1:9", lambda _: None, [])
    assert "secret" not in log.read_text()
    assert "'ANTHROPIC_BASE_URL': 'http://127.0.0.1:9'" in log.read_text()


def test_a_client_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    command = client(tmp_path, "sys.exit('no such option')")
    with pytest.raises(UpstreamError, match=f"{VERSION} did not end well: no such option"):
        take_turns(command, "http://127.0.0.1:9", lambda _: None, [])


def test_an_engine_that_failed_is_the_reason(tmp_path: Path) -> None:
    reason = UpstreamError("HTTP 500")
    with pytest.raises(UpstreamError) as raised:
        take_turns(client(tmp_path, "sys.exit(1)"), "http://127.0.0.1:9", lambda _: None, [reason])
    assert raised.value is reason


def test_without_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="npm is not on PATH"):
        claude_code(Sandbox(tmp_path / "sandbox"))


def test_what_npm_says_is_told_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('npm error 404')\n")
    npm.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    root = tmp_path / "sandbox"
    with pytest.raises(UpstreamError, match="npm cannot install Claude Code: npm error 404"):
        claude_code(Sandbox(root))
    assert sorted(path.name for path in root.rglob("*")) == ["clients", "lock"]
