"""Two releases of the real Claude Code, recorded: one rotates its billing header, one does not.

Both play one script: a tool call, two sub-agents at once, a command that changes the git status,
and, in a second process, the next turn of the same conversation.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from .clients import cachediag, claude_code, environment, record, run
from .recordings import Pair, Recording, breaks, codes
from .upstream import Body, Call, Text, Turns, Upstream, localhost_tls

ROTATING, STEADY = "2.1.113", "2.1.112"
"""The first release whose `cch` is new in every request, and the last where it is constant."""

FIRST, SECOND = "Take stock of the herbarium.", "Press one more leaf."
ALLOWED = ("--allowedTools", "Bash,Agent")
PARTS = ("Ferns: count them.", "Mosses: count them.")


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
        PARTS[0]: [[shell("echo ten")], [Text("Ten.")]],
        PARTS[1]: [[shell("echo two")], [Text("Two.")]],
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
    with Upstream(SCRIPT) as upstream:
        to = ["--upstream", upstream.url]
        finished = [
            record([claude, "-p", *turn, *ALLOWED], session, *to, env=env, cwd=project)
            for turn in ([FIRST], [SECOND, "--continue"])
        ]
        yield Recording(session, upstream.received("/v1/messages"), finished, env)


def lane_of(body: Body) -> str:
    """Which lane a request belongs to, told by the words of the script."""
    if not body["tools"]:
        return "title"
    opening = json.dumps(body["messages"][0])
    return next((part for part in PARTS if part in opening), "main")


def by_lane(recording: Recording) -> dict[str, list[bytes]]:
    """The bodies that the upstream received, in order."""
    lanes = defaultdict(list)
    for each in recording.received:
        lanes[lane_of(each.json)].append(each.body)
    return lanes


def found_by_lane(recording: Recording) -> dict[str, list[Pair]]:
    """What `diff` found of each request, in the order of the session."""
    pairs, lanes = recording.pairs(), defaultdict(list)
    for listed, (_, body, _) in zip(recording.listed(), recording.stored(), strict=True):
        lanes[lane_of(json.loads(body))].append(pairs[listed["index"]])
    return lanes


def cch(body: bytes) -> str:
    (value,) = re.findall(rb"x-anthropic-billing-header: [^\"]*cch=([0-9a-f]+);", body)
    return str(value, "ascii")


def test_the_client_ends_as_if_it_were_not_recorded(recording: Recording) -> None:
    said = [(each.code, each.stdout) for each in recording.finished]
    stderr = [each.stderr for each in recording.finished]
    assert said == [(0, b"That is the stock.\n"), (0, b"Pressed.\n")], stderr


def test_the_script_was_played(recording: Recording) -> None:
    lanes = Counter(lane_of(each.json) for each in recording.received)
    assert lanes == {"title": 1, "main": 6, PARTS[0]: 2, PARTS[1]: 2}


def test_bodies_and_streams_are_stored_byte_for_byte(recording: Recording) -> None:
    assert Counter(recording.stored()) == Counter(
        (each.path, each.body, each.answer) for each in recording.received
    )
    assert all(each.answer.startswith(b"event: message_start\n") for each in recording.received)


def test_show_gives_the_bodies_in_the_order_they_were_sent(recording: Recording) -> None:
    bodies = [recording.body(each["index"]) for each in recording.listed()]
    for sent in by_lane(recording).values():
        assert [body for body in bodies if body in sent] == sent


def test_lanes_are_told_apart(recording: Recording) -> None:
    lanes = defaultdict(set)
    for listed, (_, body, _) in zip(recording.listed(), recording.stored(), strict=True):
        lanes[lane_of(json.loads(body))].add((listed["lane"], listed["kind"]))
    assert lanes["main"] == {("main", "turn")}
    assert lanes["title"] == {("title", "auxiliary")}
    assert lanes[PARTS[0]] | lanes[PARTS[1]] == {("agent", "subagent"), ("agent-2", "subagent")}
    assert len(lanes[PARTS[0]]) == len(lanes[PARTS[1]]) == 1


def test_the_causes_are_those_that_are_there(recording: Recording, version: str) -> None:
    header = ("V01", "system[0].text")
    status = ("V05", "system[2].text")
    rotation = [header] if version == ROTATING else []
    found = found_by_lane(recording)
    assert [breaks(pair) for pair in found["main"]] == [
        [],
        rotation,
        rotation,
        rotation,
        [*rotation, status],
        rotation,
    ]
    assert [breaks(pair) for pair in found["title"]] == [[]]
    starts = [breaks(found[part][0]) for part in PARTS]
    # In both releases a part of `cc_version` follows from the first user message, so twins with
    # the same tools and system prompt share the tools alone.
    assert sorted(starts) == [[], [header]]
    assert [breaks(found[part][1]) for part in PARTS] == [rotation, rotation]


def test_the_rest_is_harmless(recording: Recording, version: str) -> None:
    found = found_by_lane(recording)
    for lane in ("main", *PARTS):
        assert "N03" in codes(found[lane][0])
        for pair in found[lane][1:]:
            assert {"N01", "M01"} <= codes(pair)
            assert codes(pair) <= {"V01", "V05", "N01", "M01", "M06", "E03"}
            assert pair["reusable_blocks"] == pair["blocks"]["a"]
            if not breaks(pair):
                assert pair["shared_blocks"] == pair["blocks"]["a"]
    # The second prompt loses its marker, and with it the form of a list.
    assert "E03" in codes(found["main"][-1])


def test_the_changed_characters_are_named(recording: Recording, version: str) -> None:
    if version == STEADY:
        assert len({cch(body) for body in by_lane(recording)["main"]}) == 1
        return
    bodies = by_lane(recording)["main"]
    for pair, before, after in zip(
        found_by_lane(recording)["main"][1:], bodies, bodies[1:], strict=False
    ):
        finding = next(each for each in pair["findings"] if each["code"] == "V01")
        assert cch(before) in finding["before"]
        assert cch(after) in finding["after"]
        start = after.index(b"cch=" + cch(after).encode()) + len("cch=")
        assert finding["byte"] in range(start, start + len(cch(after)))


def test_two_requests_are_compared_by_number(recording: Recording) -> None:
    main = [number for number, pair in recording.pairs().items() if pair["lane"] == "main"]
    pair, listed = recording.pair(main[0], main[1]), recording.pairs()[main[1]]
    assert pair["findings"] == listed["findings"]
    assert pair["bytes"] == listed["bytes"]
    assert pair["blocks"] == listed["blocks"]


def test_no_credential_is_stored(recording: Recording) -> None:
    recording.assert_private()


def test_two_commands_without_options_name_the_cause(tmp_path: Path) -> None:
    claude = str(claude_code(ROTATING))
    with Upstream(SCRIPT) as upstream:
        env = environment(tmp_path, ANTHROPIC_BASE_URL=upstream.url)
        done = cachediag("record", "--", claude, "-p", FIRST, *ALLOWED, env=env, cwd=tmp_path)
        bodies = [each.body for each in upstream.received("/v1/messages")]
    assert (done.code, done.stdout) == (0, b"That is the stock.\n"), done.stderr
    told = cachediag("diff", env=env, cwd=tmp_path)
    assert (told.code, told.stderr) == (0, "")
    text = told.stdout.decode()
    assert "V01 billing header" in text
    assert "system[0].text" in text
    before, after = [cch(body) for body in bodies if lane_of(json.loads(body)) == "main"][:2]
    assert re.search(rf"- .*cch={before};\n *\+ .*cch={after};\n", text)
    assert "\x1b" not in text


def test_a_failure_of_the_client_is_passed_on(version: str, tmp_path: Path) -> None:
    env = environment(tmp_path)
    command = [str(claude_code(version)), "--no-such-option"]
    alone = run(command, env=env, cwd=tmp_path)
    to = ["--upstream", "http://127.0.0.1:9"]
    recorded = record(command, tmp_path / "none.cachediag", *to, env=env, cwd=tmp_path)
    assert alone.code != 0
    assert (recorded.code, recorded.stdout) == (alone.code, alone.stdout)


def test_a_forward_proxy_records_the_same(version: str, tmp_path: Path) -> None:
    authority, session = tmp_path / "ca.pem", tmp_path / "stock.cachediag"
    with Upstream(SCRIPT, tls=localhost_tls(authority)) as upstream:
        env = environment(
            tmp_path,
            ANTHROPIC_BASE_URL=upstream.url,
            NODE_EXTRA_CA_CERTS=str(authority),
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        )
        # The closed port would stand between the recorder and the upstream.
        del env["HTTPS_PROXY"], env["HTTP_PROXY"]
        command = [str(claude_code(version)), "-p", FIRST, *ALLOWED]
        done = record(command, session, "--mode", "forward", env=env, cwd=tmp_path)
        recording = Recording(session, upstream.received("/v1/messages"), [done], env)
    assert (done.code, done.stdout) == (0, b"That is the stock.\n"), done.stderr
    assert len(recording.received) == 8
    assert Counter(recording.stored()) == Counter(
        (each.path, each.body, each.answer) for each in recording.received
    )
    recording.assert_private()
