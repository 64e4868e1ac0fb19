"""Qwen Code, a client of `/v1/chat/completions`: two turns of one talk, in two processes."""

import json
from collections.abc import Iterator

import pytest

from .clients import environment, qwen_code, record
from .recordings import Recording, codes
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
    said = [(each.code, each.stdout) for each in recording.finished]
    stderr = [each.stderr for each in recording.finished]
    assert said == [(0, b"That is the stock.\n"), (0, b"Pressed.\n")], stderr


def test_the_script_was_played(recording: Recording) -> None:
    assert [lane_of(each) for each in recording.received] == [
        "main",
        *["memory"] * 2,
        *["main"] * 2,
    ]


def test_bodies_and_streams_are_stored_byte_for_byte(recording: Recording) -> None:
    received = [(each.path, each.body, each.answer) for each in recording.received]
    assert recording.stored() == received
    assert all(answer.endswith(b"data: [DONE]\n\n") for _, _, answer in received)


def test_lanes_are_told_apart(recording: Recording) -> None:
    listed = [(each["lane"], each["kind"]) for each in recording.listed()]
    main, memory = ("main", "turn"), ("agent", "subagent")
    assert listed == [main, memory, memory, main, main]


def test_nothing_but_new_blocks(recording: Recording) -> None:
    pairs = list(recording.pairs().values())
    assert [codes(pair) for pair in pairs] == [{"N03"}, {"N03"}, {"N01"}, {"N01"}, {"N01"}]
    for pair in pairs[2:]:
        assert pair["shared_blocks"] == pair["blocks"]["a"]


def test_no_credential_is_stored(recording: Recording) -> None:
    recording.assert_private()
