"""One rule file, exported to each program, gives the same prompt through all of them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cachediag.model import Endpoint
from cachediag.protocol import parse
from cachediag.protocol.endpoint import endpoint_of
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.file import parse_rules
from cachediag.rules.protocols import protocol_of
from tests.live import clients
from tests.live.exports_carriers import (
    Carrier,
    asgi_server,
    claude_code_router,
    litellm_proxy,
    mitmdump,
)
from tests.live.upstream import Text, Upstream

CASES = Path(__file__).parents[2] / "fixtures" / "cases"
RULES = r"""
version = 1

[[rule]]
id = "header"
finding = "V01"
action = "drop-block"
protocol = "messages"
path = "system[0]"
pattern = '\Ax-anthropic-billing-header: [ -~]{1,300};\z'

[[rule]]
id = "status"
finding = "V05"
action = "pin"
protocol = "messages"
path = "system[*].text"
pattern = '^Status:\n([ -~\n]{1,400})\n\nRecent commits:'

[[rule]]
id = "date"
finding = "V02"
action = "pin"
protocol = "messages"
path = "messages[0].content[0].text"
pattern = "^Today's date is ([0-9-]{10})"
messages = true

[[rule]]
id = "tools"
finding = "O01"
action = "sort"
protocol = "messages"
path = "tools"
by = "name"

[[rule]]
id = "clock"
finding = "V02"
action = "move-to-end"
protocol = "chat"
path = "messages[0].content"
pattern = '\AIt is [0-9:]{8}\.\n'

[[rule]]
id = "chat-tools"
finding = "O01"
action = "sort"
protocol = "chat"
path = "tools"
by = "name"
"""
HEADER = "x-anthropic-billing-header: cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=6c09a;"
PAUSE = 0.3

Posted = tuple[str, bytes]


def case(name: str) -> list[bytes]:
    return [(CASES / name / file).read_bytes() for file in ("a.json", "b.json")]


def quoting() -> bytes:
    """A request whose user, whose tool, and whose system prompt quote a billing header."""
    body = json.loads(case("many-header-and-snapshot")[0])
    body["tools"].sort(key=lambda tool: tool["name"])
    body["system"][0]["text"] = f"Known lines:\n{HEADER}"
    body["messages"][0]["content"][-1]["text"] = HEADER
    body["messages"][-1]["content"][0]["content"] = f"{HEADER}\n{HEADER}"
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


RULED = [*case("many-header-order-date"), *case("many-header-and-snapshot")]
MESSAGES: list[Posted] = [("/v1/messages?beta=true", body) for body in (*RULED, quoting())]
CHAT: list[Posted] = [("/v1/chat/completions", body) for body in case("many-chat-order-and-clock")]


def made(*posted: Posted) -> list[bytes]:
    """What the package's own engine makes of requests that come in this order."""
    rules, pins = parse_rules(RULES, "rules.toml").enabled, Pins()
    bodies = []
    for path, body in posted:
        protocol = protocol_of(endpoint_of(path), path)
        bodies.append(apply_rules(body, protocol or "", rules, pins).body)
    return bodies


def prompts(bodies: list[bytes], endpoint: Endpoint) -> list[list[tuple[str, bytes]]]:
    """What every cache sees."""
    return [
        [(block.role, block.canonical) for block in parse(body, endpoint).blocks] for body in bodies
    ]


def test_the_rules_change_what_they_are_for_and_nothing_else() -> None:
    bodies = made(*MESSAGES)
    assert bodies[-1] == quoting()
    # Tools, system, and the first message, of which the header is gone.
    before = {tuple(prompt[:12]) for prompt in prompts(RULED, "messages")}
    after = {tuple(prompt[:11]) for prompt in prompts(bodies[:-1], "messages")}
    assert (len(before), len(after)) == (3, 1)
    first, second = prompts(made(*CHAT), "chat")
    assert first == second[: len(first) - 1] + first[-1:]


@pytest.fixture
def export(tmp_path: Path) -> Callable[[str, str], Path]:
    """Export the rules by the command."""

    def run(to: str, name: str) -> Path:
        (tmp_path / "rules.toml").write_text(RULES)
        script = tmp_path / "scripts" / name
        script.parent.mkdir()
        words = ("rules", "export", "rules.toml", "--to", to, "-o", script)
        done = clients.cachediag(*words, env=clients.environment(tmp_path), cwd=tmp_path)
        assert done.code == 0, done.stderr
        return script

    return run


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(lambda _: [Text("So it is.")], pause=PAUSE) as server:
        yield server


def post(carrier: Carrier, *posted: Posted) -> None:
    """Send requests one after the other; their streams must come through as they are made."""
    gaps = []
    for path, body in posted:
        times = [time for time, _ in carrier.post(path, body)]
        gaps.append(times[-1] - times[0])
    # A program that is busy, as with its first request, may be late for a stream's beginning.
    assert max(gaps) > 0.8 * PAUSE, "the streams were held back"


def received(upstream: Upstream, *routes: str) -> list[bytes]:
    return [each.body for each in upstream.received() if each.route in routes]


def test_mitmproxy(export, upstream: Upstream, tmp_path: Path) -> None:
    script = export("mitmproxy", "cachediag_rules.py")
    counted = ("/v1/messages/count_tokens", RULED[1])
    with mitmdump(tmp_path, script, upstream.url) as carrier:
        post(carrier, *MESSAGES, *CHAT)
        carrier.post(*counted)
        assert "unchanged" not in carrier.logged()
    got = [each.body for each in upstream.received() if each.method == "POST"]
    assert got == made(*MESSAGES, *CHAT, counted)


def test_asgi(export, tmp_path: Path) -> None:
    script, kept = export("asgi", "cachediag_rules.py"), tmp_path / "kept"
    kept.mkdir()
    other = ("/v1/embeddings", b'{"input": "  as it is"}')
    posted = *MESSAGES, *CHAT, ("/v1/messages/count_tokens", RULED[1]), other
    with asgi_server(tmp_path, script, kept, PAUSE) as carrier:
        post(carrier, *posted)
        assert "unchanged" not in carrier.logged()
    files = sorted(kept.iterdir())
    assert [file.read_bytes() for file in files] == made(*posted)
    assert [int(file.name[4:]) for file in files] == [file.stat().st_size for file in files]


def test_claude_code_router(export, upstream: Upstream, tmp_path: Path) -> None:
    script = export("claude-code-router", "cachediag-rules.js")
    with claude_code_router(tmp_path, script, upstream.url) as carrier:
        post(carrier, *MESSAGES)
        assert "unchanged" not in carrier.logged()
    got = prompts(received(upstream, "/v1/messages"), "messages")
    assert got == prompts(made(*MESSAGES), "messages")


def test_litellm(export, upstream: Upstream, tmp_path: Path) -> None:
    script = export("litellm", "cachediag_rules.py")
    passed = [(f"/anthropic{path}", body) for path, body in MESSAGES]
    with litellm_proxy(tmp_path, script, upstream.url) as carrier:
        post(carrier, *MESSAGES, *CHAT, *passed)
        assert "unchanged" not in carrier.logged()
    got = prompts(received(upstream, "/v1/messages"), "messages")
    assert got == prompts(made(*MESSAGES, *passed), "messages")
    got = prompts(received(upstream, "/v1/chat/completions"), "chat")
    assert got == prompts(made(*CHAT), "chat")
