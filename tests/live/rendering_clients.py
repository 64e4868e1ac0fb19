"""What real clients send: whole bodies of Claude Code and of Qwen Code, played a script.

They are the vendors' text: they stay in memory, and no failure prints more than a few characters.
"""

import json
from pathlib import Path

from tests.live.clients import claude_code, environment, qwen_code, run
from tests.live.rendering_engines import Case
from tests.live.upstream import Call, Text, Turns, Upstream

__all__ = ["claude_code_cases", "qwen_code_cases"]

_FIRST, _SECOND, _PART = "Count the lamps.", "Count them again.", "The north pier: count its lamps."
_AGENT = {"description": "Count", "subagent_type": "general-purpose", "prompt": _PART}


def claude_code_cases(version: str, home: Path) -> list[Case]:
    """Two turns of a conversation: tool calls, a sub-agent, thinking out loud, `--continue`.

    Args:
        version: the release of Claude Code.
        home: an empty directory.
    """
    shell = [Call("Bash", {"command": f"echo {n} 'é'", "description": "Say"}) for n in (1, 2)]
    script = Turns(
        {
            _FIRST: [[Text("I look."), *shell], [Call("Agent", _AGENT)], [Text("Nine.")]],
            _PART: [[shell[0]], [Text("Four.")]],
            _SECOND: [[Text("Once more."), shell[1]], [Text("Nine again.")]],
        }
    )
    env = environment(home, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
    project = _project(home, env)
    claude = claude_code(version)
    with Upstream(script) as upstream:
        env["ANTHROPIC_BASE_URL"] = upstream.url
        for turn in ([_FIRST], [_SECOND, "--continue"]):
            run([claude, "-p", *turn, "--allowedTools", "Bash,Agent"], env=env, cwd=project)
        received = upstream.received("/v1/messages")
    return [
        Case(f"claude-code-{version}-{number}", "/v1/messages", each.body)
        for number, each in enumerate(received)
    ]


def qwen_code_cases(home: Path) -> list[Case]:
    """A turn with a tool call, whose result the client sends as a list of parts.

    Args:
        home: an empty directory.
    """
    arguments = {"command": "echo 1", "description": "Say", "is_background": False}
    script = Turns({_FIRST: [[Text("So."), Call("run_shell_command", arguments)], [Text("Nine.")]]})
    env = environment(home, OPENAI_MODEL="made-up-model")
    # It goes through the proxy to loopback addresses too.
    del env["HTTPS_PROXY"], env["HTTP_PROXY"]
    settings = {
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    (home / ".qwen").mkdir()
    (home / ".qwen" / "settings.json").write_text(json.dumps(settings))
    project = _project(home, env)
    with Upstream(script) as upstream:
        env["OPENAI_BASE_URL"] = f"{upstream.url}/v1"
        run([qwen_code(), "-p", _FIRST, "--yolo", "--auth-type", "openai"], env=env, cwd=project)
        received = upstream.received("/v1/chat/completions")
    return [
        Case(f"qwen-code-{number}", "/v1/chat/completions", each.body)
        for number, each in enumerate(received)
    ]


def _project(home: Path, env: dict[str, str]) -> Path:
    project = home / "project"
    project.mkdir()
    run(["git", "init", "-q", "-b", "main"], env=env, cwd=project)
    (project / "CLAUDE.md").write_text("Be brief.\n")
    return project
