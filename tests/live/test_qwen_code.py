"""Qwen Code, a client of `/v1/chat/completions`: two turns of one talk, in two processes."""

import json
from collections.abc import Iterator

import pytest

from .clients import environment, qwen_code, record
from .recordings import Recording
from .upstream import Call, Received, Text, Turns, Upstream

FIRST, SECOND, MEMORY = "Take stock of the herbarium.", "Press one more leaf.", "Managed memory"


def shell(command: str) -> Call:
    arguments = {"command": command, "description": "Run it", "is_background": False}
    return Call("run_shell_command", arguments)


SCRIPT = Turns(
    {
        FIRST: [[Text("That is the stock.")]],
        SECOND: [[Text("I press."), shell("echo two")], [Text("Pressed.")]],
        # After the first turn a sub-agent of the client looks for what is worth remembering.
        MEMORY: [[shell("echo notes")], [Text("Nothing to remember.")]],
    }
)
SETTINGS = {
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    home = tmp_path_factory.mktemp("home")
    project = home / "project"
    project.mkdir()
    (home / ".qwen").mkdir()
    (home / ".qwen" / "settings.json").write_text(json.dumps(SETTINGS))
    env = environment(home, OPENAI_MODEL="made-up-model")
    # It goes through the proxy to loopback addresses too.
    del env["HTTPS_PROXY"], env["HTTP_PROXY"]
    qwen, session = qwen_code(), home / "stock.cachediag"
    options = ["--yolo", "--auth-type", "openai"]
    with Upstream(SCRIPT) as upstream:
        to = ["--upstream", upstream.url]
        finished = [
            record([qwen, "-p", *turn, *options], session, *to, env=env, cwd=project)
            for turn in ([FIRST], [SECOND, "--continue"])
        ]
        yield Recording(session, upstream.received("/v1/chat/completions"), finished, env)


def lane_of(received: Received) -> str:
    opening = str(received.json["messages"][0]["content"])
    return "main" if opening.startswith("You are Qwen Code") else "memory"


def test_the_client_ends_as_if_it_were_not_recorded(recording: Recording) -> None:
    assert [each.code for each in recording.finished] == [0, 0]
    assert [each.stdout for each in recording.finished] == [b"That is the stock.\n", b"Pressed.\n"]


def test_the_script_was_played(recording: Recording) -> None:
    assert [lane_of(each) for each in recording.received] == [
        "main",
        *["memory"] * 2,
        *["main"] * 2,
    ]
