"""The real Claude Code with a new billing header in every request, and rules that take it out.

It is recorded as it is, a rule file is made from the recording, and another conversation is held
with the rules in force. In both the user quotes such a header, and a tool prints one.
"""

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cachediag.rules.file import read_rules
from cachediag.session import Session

from .clients import Finished, cachediag, claude_code, environment, record
from .recordings import Recording, breaks
from .upstream import Call, Text, Turns, Upstream

ROTATING = "2.1.113"
QUOTED = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=6c09a;"
PRINTED = QUOTED.replace("6c09a", "0f1e2")
FIRST, SECOND = "Take stock of the herbarium.", "Press one more leaf."
BLOCK = re.compile(
    rb'(?<="system":\[)\{"type":"text","text":"x-anthropic-billing-header: [^"]*"\},'
)


def script(last: str) -> list[list[Text | Call]]:
    def shell(command: str) -> Call:
        return Call("Bash", {"command": command, "description": "Run it"})

    return [
        [Text("I look around."), shell("echo one")],
        [shell(f"echo '{PRINTED}'")],
        [shell("echo three")],
        [Text(last)],
    ]


SCRIPT = Turns({FIRST: script("That is the stock."), SECOND: script("Pressed.")})


@dataclass(frozen=True)
class Place:
    """Where everything happens."""

    home: Path
    env: Mapping[str, str]
    upstream: Upstream

    def claude(self, words: str) -> list[str | Path]:
        """The client with a prompt that quotes a header, alone on a line of its own."""
        prompt = f"{words} What does this line mean?\n{QUOTED}"
        return [claude_code(ROTATING), "-p", prompt, "--allowedTools", "Bash"]

    def received(self, since: int) -> list[bytes]:
        """The bodies that reached the server, but for the first `since`."""
        return [each.body for each in self.upstream.received("/v1/messages")[since:]]

    def recording(self, session: Path, since: int, *finished: Finished) -> Recording:
        received = self.upstream.received("/v1/messages")[since:]
        return Recording(session, received, list(finished), self.env)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("home")
    with Upstream(SCRIPT) as upstream:
        yield Place(home, environment(home), upstream)


@pytest.fixture(scope="module")
def plain(place: Place) -> Recording:
    """A conversation as it is without rules."""
    session = place.home / "plain.cachediag"
    to = ["--upstream", place.upstream.url]
    done = record(place.claude(FIRST), session, *to, env=place.env, cwd=place.home)
    assert (done.code, done.stdout) == (0, b"That is the stock.\n"), done.stderr
    return place.recording(session, 0, done)


@pytest.fixture(scope="module")
def rules(place: Place, plain: Recording) -> Path:
    """What `rules new` makes of it."""
    path = place.home / "rules.toml"
    done = cachediag("rules", "new", plain.session, "-o", path, env=place.env, cwd=place.home)
    assert done.code == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def both(place: Place, rules: Path) -> Recording:
    """Another conversation, recorded with the rules in force."""
    session, since = place.home / "both.cachediag", len(place.received(0))
    to = ["--upstream", place.upstream.url, "--rules", str(rules)]
    done = record(place.claude(SECOND), session, *to, env=place.env, cwd=place.home)
    return place.recording(session, since, done)


@pytest.fixture(scope="module")
def chained(place: Place, rules: Path, both: Recording) -> Recording:
    """Once more, through `fix strip` into a recorder that knows nothing of rules."""
    session, since = place.home / "chained.cachediag", len(place.received(0))
    with recorder(place, session) as url:
        strip = ("fix", "strip", "--rules", rules, "--upstream", url, "--")
        done = cachediag(*strip, *place.claude(FIRST), env=place.env, cwd=place.home)
    return place.recording(session, since, done)


@contextmanager
def recorder(place: Place, session: Path) -> Iterator[str]:
    """Record without a client; gives the recorder's URL."""
    words = ["record", "--upstream", place.upstream.url, "-o", str(session)]
    with subprocess.Popen(
        [sys.executable, "-m", "cachediag", *words],
        env=place.env,
        cwd=place.home,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "Ctrl-C" in line:
                break
        (url,) = re.findall(r"export ANTHROPIC_BASE_URL=(\S+)", said)
        try:
            yield url
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert process.returncode == 0


def main_loop(bodies: list[bytes]) -> list[bytes]:
    return [body for body in bodies if json.loads(body)["tools"]]


def test_the_header_breaks_every_prefix_without_rules(plain: Recording) -> None:
    main = [pair for pair in plain.pairs().values() if pair["lane"] == "main"]
    assert len(main) == 4
    assert [breaks(pair) for pair in main[1:]] == [[("V01", "system[0].text")]] * 3


def test_one_rule_is_enabled_and_it_is_for_the_header(rules: Path) -> None:
    (rule,) = read_rules(rules).enabled
    assert (rule.finding, rule.action, rule.path) == ("V01", "drop-block", "system[0]")


def test_the_check_finds_the_rule_safe(place: Place, plain: Recording, rules: Path) -> None:
    check = ("rules", "check", plain.session, rules, "--profile", "vllm-mlx@0.2.6")
    done = cachediag(*check, "--model", "qwen3", "--format", "json", env=place.env, cwd=place.home)
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["safe"] is True


def test_the_client_ends_as_if_there_were_no_rules(both: Recording, chained: Recording) -> None:
    said = [(each.finished[0].code, each.finished[0].stdout) for each in (both, chained)]
    assert said == [(0, b"Pressed.\n"), (0, b"That is the stock.\n")], both.finished
    assert len(main_loop([each.body for each in both.received])) == 4
    assert len(main_loop([each.body for each in chained.received])) == 4


def test_what_reached_the_server_breaks_no_prefix(both: Recording, chained: Recording) -> None:
    env = both.env
    for recording in (both, chained):
        words = ("diff", recording.session, "--format", "json")
        done = cachediag(*words, env=env, cwd=recording.session.parent)
        pairs = json.loads(done.stdout)["pairs"]
        assert [breaks(pair) for pair in pairs] == [[]] * len(pairs)
        main = [pair for pair in pairs if pair["lane"] == "main"]
        # Each goes on where the one before it ended.
        ends = [(pair["shared_blocks"], pair["reusable_blocks"]) for pair in main[1:]]
        assert ends == [(pair["blocks"]["a"],) * 2 for pair in main[1:]]


def test_what_the_client_sent_is_kept_beside_it(both: Recording) -> None:
    with Session.open(both.session) as session:
        kept = [each for each in session.exchanges() if each.info.endpoint == "messages"]
    went = Counter(each.outgoing for each in kept)
    assert went == Counter(each.body for each in both.received)
    for each in kept:
        # All but the one block is as it came, byte for byte.
        stripped, count = BLOCK.subn(b"", each.request, count=1)
        assert (count, stripped) == (1, each.outgoing)
    words = ("diff", both.session, "--incoming", "--format", "json")
    done = cachediag(*words, env=both.env, cwd=both.session.parent)
    found = {code for pair in json.loads(done.stdout)["pairs"] for code, _ in breaks(pair)}
    assert found == {"V01"}


def test_a_header_in_a_user_s_words_and_one_that_a_tool_printed_go_on(
    both: Recording, chained: Recording
) -> None:
    for recording in (both, chained):
        *_, last = main_loop([each.body for each in recording.received])
        messages = json.loads(last)["messages"]
        texts = [block for message in messages for block in blocks(message["content"])]
        assert any(block.get("text", "").endswith(f"?\n{QUOTED}") for block in texts)
        results = [block["content"] for block in texts if block["type"] == "tool_result"]
        assert results == ["one", PRINTED, "three"]
        # Three: quoted, in the tool's call, and printed by it.
        assert last.count(b"x-anthropic-billing-header") == 3


def blocks(content: str | list[dict[str, str]]) -> list[dict[str, str]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def test_what_was_stripped_is_told(both: Recording, chained: Recording) -> None:
    for recording in (both, chained):
        count = len(recording.received)
        stderr = recording.finished[0].stderr
        assert f"\n{count} of {count} requests changed by rules\n" in stderr
        assert re.search(rf"strip-\S+ +{count} requests +[\d,]+ bytes", stderr)
