"""Two releases of the real Claude Code, recorded: one rotates its billing header, one does not.

Both play one script: a tool call, two sub-agents at once, a command that changes the git status,
and, in a second process, the next turn of the same conversation.
"""

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from .clients import claude_code, environment, record, run
from .recordings import Recording
from .upstream import Call, Received, Text, Turns, Upstream

ROTATING, STEADY = "2.1.113", "2.1.112"
"""The first release whose `cch` is new in every request, and the last where it is constant."""

FIRST, SECOND = "Take stock of the herbarium.", "Press one more leaf."
PARTS = ("Count the ferns.", "Count the mosses.")


def shell(command: str) -> Call:
    return Call("Bash", {"command": command, "description": "Run it"})


def agent(part: str) -> Call:
    kind = {"description": "Count", "subagent_type": "general-purpose"}
    return Call("Agent", kind | {"prompt": part})


SCRIPT = Turns(
    {
        FIRST: [
            [Text("I look around."), shell("echo one")],
            [agent(part) for part in PARTS],
            [shell("touch leaf && git add leaf && echo two")],
            [Text("That is the stock.")],
        ],
        PARTS[0]: [[shell("echo ferns")], [Text("Ten ferns.")]],
        PARTS[1]: [[shell("echo mosses")], [Text("Two mosses.")]],
        SECOND: [[shell("echo three")], [Text("Pressed.")]],
    }
)


@pytest.fixture(scope="module", params=[ROTATING, STEADY])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def recording(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """Both turns, each recorded by a process of its own, in one session."""
    home = tmp_path_factory.mktemp("home")
    project = home / "project"
    project.mkdir()
    env = environment(home)
    run(["git", "init", "-q", "-b", "main"], env=env, cwd=project)
    (project / "CLAUDE.md").write_text("Be brief.\n")
    claude, session = claude_code(version), home / "stock.cachediag"
    allowed = ["--allowedTools", "Bash,Agent"]
    with Upstream(SCRIPT) as upstream:
        finished = [
            record(
                [claude, "-p", *turn, *allowed],
                session,
                "--upstream",
                upstream.url,
                env=env,
                cwd=project,
            )
            for turn in ([FIRST], [SECOND, "--continue"])
        ]
        yield Recording(session, upstream.received("/v1/messages"), finished, env)


def lane_of(received: Received) -> str:
    """Which lane a request belongs to, told by the words of the script."""
    if not received.json["tools"]:
        return "title"
    opening = json.dumps(received.json["messages"][0])
    return next((part for part in PARTS if part in opening), "main")


def test_the_client_ends_as_if_it_were_not_recorded(recording: Recording) -> None:
    first, second = recording.finished
    assert (first.code, second.code) == (0, 0)
    assert (first.stdout, second.stdout) == (b"That is the stock.\n", b"Pressed.\n")


def test_the_script_was_played(recording: Recording) -> None:
    lanes = Counter(lane_of(each) for each in recording.received)
    assert lanes == {"title": 1, "main": 6, PARTS[0]: 2, PARTS[1]: 2}


def test_every_body_is_the_one_that_the_upstream_received(recording: Recording) -> None:
    requests = recording.requests()
    recorded = [(recording.body(each["index"]), each["path"]) for each in requests]
    assert Counter(recorded) == Counter((each.body, each.path) for each in recording.received)


def test_the_order_in_each_lane_is_kept(recording: Recording) -> None:
    bodies = [recording.body(each["index"]) for each in recording.requests()]
    for lane in {lane_of(each) for each in recording.received}:
        sent = [each.body for each in recording.received if lane_of(each) == lane]
        assert [body for body in bodies if body in sent] == sent
