"""The switches that `fix env` gives, on the real Claude Code: is the cause gone from the wire?

Each is set once in the environment and once through the `env` of a settings file.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cachediag.fix.settings import undo, write
from cachediag.fix.switches import clients

from .clients import cachediag, claude_code, environment, record, run
from .upstream import Body, Call, Text, Turns, Upstream

ROTATING, STEADY, NEWER = "2.1.113", "2.1.112", "2.1.332"
"""The first release with a `cch` that is new in every request, the last without, and one that sends
system messages inside the conversation."""

FIRST, SECOND = "Sort the seeds.", "Label one more packet."
ALLOWED = ("--allowedTools", "Bash")
STATUS = "touch packet && git add packet"
SCRIPT = Turns(
    {
        FIRST: [
            [Call("Bash", {"command": STATUS, "description": "Put one there"})],
            [Text("Sorted.")],
        ],
        SECOND: [[Text("Labelled.")]],
    }
)

(CLAUDE,) = clients()
SWITCHES = {switch.name: switch for switch in CLAUDE.switches}
HEADER = SWITCHES["CLAUDE_CODE_ATTRIBUTION_HEADER"]
REMINDER = SWITCHES["CLAUDE_CODE_TOTAL_TOKENS_REMINDER"]
GIT = SWITCHES["CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS"]
TITLE = SWITCHES["CLAUDE_CODE_DISABLE_TERMINAL_TITLE"]
HOUR = SWITCHES["ENABLE_PROMPT_CACHING_1H"]


class Workplace:
    """A home directory with a project in it, and what a client sends from there."""

    def __init__(self, home: Path, version: str) -> None:
        self.home = home
        self.project = home / "project"
        self.claude = claude_code(version)
        self.project.mkdir()
        run(["git", "init", "-q", "-b", "main"], env=environment(home), cwd=self.project)

    @property
    def settings(self) -> dict[str, Path]:
        """Its settings files, by whose they are."""
        environ = {"HOME": str(self.home)}
        return {file.kind: file.place(environ, self.project) for file in CLAUDE.files}

    def sent(self, **variables: str) -> list[Body]:
        """Play both turns; give the bodies of the requests."""
        with Upstream(SCRIPT) as upstream:
            env = environment(self.home, ANTHROPIC_BASE_URL=upstream.url, **variables)
            for turn in ([FIRST], [SECOND, "--continue"]):
                done = run([self.claude, "-p", *turn, *ALLOWED], env=env, cwd=self.project)
                assert done.code == 0, done.stderr
            return [each.json for each in upstream.received("/v1/messages")]


@pytest.fixture(params=[ROTATING, STEADY])
def workplace(request: pytest.FixtureRequest, tmp_path: Path) -> Workplace:
    return Workplace(tmp_path, str(request.param))


@pytest.fixture
def newer(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path, NEWER)


def main_loop(bodies: list[Body]) -> list[Body]:
    return [body for body in bodies if body["tools"]]


def headers(bodies: list[Body]) -> int:
    """How many requests have the billing header at the head of their system prompt."""
    return sum(body["system"][0]["text"].startswith("x-anthropic-billing") for body in bodies)


def has(pattern: re.Pattern[str], value: Any) -> bool:
    """Whether a pattern is found in a text anywhere in a value."""
    if isinstance(value, str):
        return bool(pattern.search(value))
    inside = value.values() if isinstance(value, Mapping) else value
    return isinstance(value, (list, dict)) and any(has(pattern, each) for each in inside)


def snapshots(bodies: list[Body]) -> int:
    assert GIT.where is not None
    return sum(has(GIT.where.pattern, body["system"]) for body in bodies)


def counts(bodies: list[Body]) -> int:
    """How many messages tell the count of tokens left."""
    assert REMINDER.where is not None
    messages = [message for body in bodies for message in body["messages"]]
    return sum(
        message["role"] == "system" and has(REMINDER.where.pattern, message["content"])
        for message in messages
    )


def lifetimes(bodies: list[Body]) -> set[str | None]:
    markers = re.compile(r'"cache_control": (\{[^}]*\})').findall(json.dumps(bodies))
    return {json.loads(marker).get("ttl") for marker in markers}


def test_without_a_switch_all_of_it_is_there(workplace: Workplace) -> None:
    bodies = workplace.sent()
    assert [bool(body["tools"]) for body in bodies].count(False) == 1
    assert headers(bodies) == len(bodies) == 4
    assert snapshots(bodies) == 3
    assert lifetimes(bodies) == {None}


def test_switched_off_in_the_environment(workplace: Workplace) -> None:
    bodies = workplace.sent(**{each.name: each.value for each in (HEADER, GIT, TITLE, HOUR)})
    assert (len(bodies), len(main_loop(bodies))) == (3, 3)
    assert (headers(bodies), snapshots(bodies)) == (0, 0)
    assert lifetimes(bodies) == {"1h"}


@pytest.mark.parametrize(
    ("version", "kind"),
    [(STEADY, "user"), (ROTATING, "user"), (ROTATING, "project"), (ROTATING, "local")],
)
def test_switched_off_through_a_settings_file(tmp_path: Path, version: str, kind: str) -> None:
    workplace = Workplace(tmp_path, version)
    values = {each.name: each.value for each in (HEADER, GIT, TITLE, HOUR)}
    write(workplace.settings[kind], values)
    # What a settings file says wins over the shell.
    bodies = workplace.sent(**{HEADER.name: "1"})
    assert (len(bodies), headers(bodies), snapshots(bodies)) == (3, 0, 0)
    assert lifetimes(bodies) == {"1h"}


def test_each_alone_removes_only_its_own(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path, ROTATING)
    bodies = workplace.sent(**{HEADER.name: HEADER.value})
    assert (len(bodies), headers(bodies), snapshots(bodies)) == (4, 0, 3)
    bodies = workplace.sent(**{TITLE.name: TITLE.value})
    assert (len(bodies), headers(bodies)) == (3, 3)


@pytest.mark.parametrize("value", HEADER.also)
def test_the_other_values_that_do(tmp_path: Path, value: str) -> None:
    assert headers(Workplace(tmp_path, ROTATING).sent(**{HEADER.name: value})) == 0


def test_the_nearest_settings_win(tmp_path: Path) -> None:
    workplace = Workplace(tmp_path, ROTATING)
    files = workplace.settings
    write(files["user"], {HEADER.name: "0"})
    write(files["project"], {HEADER.name: "1"})
    assert headers(workplace.sent()) == 4
    write(files["local"], {HEADER.name: "0"})
    assert headers(workplace.sent()) == 0


@pytest.mark.parametrize(
    "text", ['{"env": {"%s": "0"}} // off', '{"env": {"%s": "0",}}'], ids=["comment", "comma"]
)
@pytest.mark.parametrize("version", [ROTATING, NEWER])
def test_a_settings_file_with_comments_is_passed_over(
    tmp_path: Path, version: str, text: str
) -> None:
    workplace = Workplace(tmp_path, version)
    user = workplace.settings["user"]
    user.parent.mkdir()
    user.write_text(text % HEADER.name)
    bodies = workplace.sent()
    assert headers(bodies) == len(bodies) > 0


def test_the_newer_release_heeds_them_too(newer: Workplace) -> None:
    # Whether the count is on is decided from afar; here it is asked for.
    on = {REMINDER.name: "padded-countdown"}
    bodies = newer.sent(**on)
    assert headers(bodies) == len(bodies) == 3
    assert counts(bodies) > 0
    assert counts(newer.sent(**{REMINDER.name: REMINDER.value})) == 0
    write(newer.settings["user"], {each.name: each.value for each in (HEADER, REMINDER, HOUR)})
    bodies = newer.sent(**on)
    assert (headers(bodies), counts(bodies)) == (0, 0)
    assert lifetimes(bodies) == {"1h"}


def test_from_a_recording_to_one_without_a_break(tmp_path: Path) -> None:
    """What was found is given, written, gone from the next recording, and taken back."""
    workplace = Workplace(tmp_path, ROTATING)
    env = environment(tmp_path)

    def recorded(name: str) -> set[str]:
        session = tmp_path / f"{name}.cachediag"
        with Upstream(SCRIPT) as upstream:
            command: list[str | Path] = [workplace.claude, "-p", FIRST, *ALLOWED]
            to = ["--upstream", upstream.url]
            done = record(command, session, *to, env=env, cwd=workplace.project)
        assert done.code == 0, done.stderr
        told = cachediag("diff", session, "--format", "json", env=env, cwd=tmp_path)
        pairs = json.loads(told.stdout)["pairs"]
        found = [each for pair in pairs for each in pair["findings"]]
        return {each["code"] for each in found if each["severity"] == "break"}

    assert recorded("before") == {"V01"}
    given = cachediag("fix", "env", "before.cachediag", env=env, cwd=tmp_path)
    code = [line for line in given.stdout.decode().splitlines() if line.startswith("export")]
    assert code == [f"export {HEADER.name}=0"]
    user = workplace.settings["user"]
    stood = user.read_bytes() if user.exists() else None
    done = cachediag("fix", "env", "before.cachediag", "--write", env=env, cwd=tmp_path)
    assert (done.code, done.stderr) == (0, "")
    assert recorded("after") == set()
    undone = undo(user)
    assert undone is not None
    assert (user.read_bytes() if user.exists() else None) == stood
