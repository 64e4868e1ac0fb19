"""`docs/json.md` lists the keys that the commands print, no more and no fewer."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cachediag.cli import app
from cachediag.lint.grammar.engine import ENGINES
from cachediag.model import Exchange, ExchangeInfo, Json, Usage
from cachediag.rules.file import write_rules
from cachediag.rules.rule import Rule, RuleSet
from cachediag.session import Session
from tests.conftest import Server
from tests.fix.patch.sites import KNOWN, installed
from tests.fix.patch.test_running import answering

ROOT = Path(__file__).parents[2]
CASE = ROOT / "fixtures" / "cases" / "v01-block-of-its-own"
# Below them stand names that are not ours.
FREE = ("headers", "response_headers")


def documented(section: str) -> set[str]:
    """The keys of a section's table."""
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    (body,) = [part for part in text.split("\n## ") if part.startswith(f"{section}\n")]
    return set(re.findall(r"^\| `([\w.\[\]]+)` \|", body, re.MULTILINE))


def below(prefix: str, keys: set[str]) -> set[str]:
    return {f"{prefix}.{key}" for key in keys}


def produced(value: Json, path: str = "") -> Iterator[str]:
    """Every key of a document, as the tables write it."""
    if isinstance(value, dict) and path.rpartition(".")[2] not in FREE:
        for key, inner in value.items():
            own = f"{path}.{key}".lstrip(".")
            if isinstance(inner, list):
                yield f"{own}[]"
                for item in inner:
                    yield from produced(item, f"{own}[]")
            else:
                yield own
                yield from produced(inner, own)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recorded session of two requests, with everything in it that a document may show."""
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    path = tmp_path / "sessions" / "two.cachediag"
    path.parent.mkdir()
    with Session.create(path) as made:
        for name in ("a.json", "b.json"):
            info = ExchangeInfo(
                endpoint="messages",
                path="/v1/messages",
                usage=Usage(input_tokens=1),
                headers={"user-agent": "test"},
                notes=("a note",),
            )
            made.append(Exchange(info, (CASE / name).read_bytes()))
    return "two"


def keys(*words: str, code: int = 0) -> set[str]:
    done = CliRunner().invoke(app, [*words, "--format", "json"], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return set(produced(json.loads(done.stdout)))


def test_a_pair(session: str) -> None:
    expected = documented("cachediag.diff/1") | below("findings[]", documented("Findings"))
    assert keys("diff", session, "--pair", "0:1") == expected
    assert keys("diff", str(CASE / "a.json"), str(CASE / "b.json")) == expected


def test_a_sessions_pairs(session: str) -> None:
    of_a_pair = documented("cachediag.diff/1") | below("findings[]", documented("Findings"))
    assert keys("diff", session) == documented("cachediag.diffs/1") | below("pairs[]", of_a_pair)


def test_a_session(session: str) -> None:
    of_an_exchange = below("exchanges[]", documented("An exchange"))
    assert keys("show", session) == documented("cachediag.session/1") | of_an_exchange


def test_an_exchange(session: str) -> None:
    assert keys("show", session, "1") == documented("cachediag.exchange/1") | documented(
        "An exchange"
    )


def test_the_sessions(session: str) -> None:
    assert keys("sessions") == documented("cachediag.sessions/1")


def test_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    of_the_demo = documented("cachediag.demo/1")
    assert keys("demo") == of_the_demo | below("findings[]", documented("Findings"))


def test_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHEDIAG_HOME", str(tmp_path))
    assert keys("doctor") == documented("cachediag.doctor/1")
    assert keys("doctor", "--backend", "http://127.0.0.1:9") == documented("cachediag.doctor/1")


def test_what_rules_change(session: str, tmp_path: Path) -> None:
    rule = Rule("sort-tools", "O01", "sort", "messages", "tools", by="name")
    path = tmp_path / "rules.toml"
    path.write_text(write_rules(RuleSet((rule,))), encoding="utf-8")
    assert keys("fix", "apply", session, str(path), "--dry-run") == documented("cachediag.fix/1")


@pytest.fixture
def sent_by_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session of a known client and of one that is not, in a home directory of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    path = tmp_path / "two.cachediag"
    with Session.create(path) as made:
        for agent, cch in (("claude-cli/2.1.113", b"1"), ("claude-cli/2.1.113", b"2"), ("x", b"3")):
            headers = {"user-agent": agent}
            info = ExchangeInfo(endpoint="messages", path="/v1/messages", headers=headers)
            body = (CASE / "a.json").read_bytes().replace(b"cch=", b"cch=" + cch)
            made.append(Exchange(info, body))
    return str(path)


def test_switches_and_what_is_in_place(
    sent_by_two: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keys("fix", "env", sent_by_two, "--write") == documented("cachediag.fix-env/1")
    monkeypatch.setenv("CLAUDE_CODE_ATTRIBUTION_HEADER", "1")
    monkeypatch.setattr("cachediag.fix.patch.state.releases", lambda: KNOWN)
    installed(tmp_path)
    keys("fix", "patch", "--site", str(tmp_path))
    words = ("fix", "status", sent_by_two, "--profile", "vllm-mlx@0.3.0", "--site", str(tmp_path))
    with answering(200, {"cachediag_prefix_cache": {"state": "on"}}) as url:
        shown = keys(*words, "--backend", url)
    # Nothing is left to be mended where the patch is in place.
    assert shown == documented("cachediag.fix-status/1")


def test_a_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cachediag.fix.patch.state.releases", lambda: KNOWN)
    installed(tmp_path)
    words = ("fix", "patch", "--site", str(tmp_path))
    assert keys(*words) - documented("cachediag.fix-patch/1") == set()
    # The second time what is in place is told of.
    assert keys(*words, "--slots", "2") == documented("cachediag.fix-patch/1")


def test_an_analysis(session: str) -> None:
    expected = documented("cachediag.analysis/1") | below(
        "requests[].findings[]", documented("Findings")
    )
    assert keys("analyze", session, "--profile", "vllm-mlx@0.2.6") == expected


def test_many_sessions(session: str, tmp_path: Path) -> None:
    (tmp_path / "bad.cachediag").touch()
    words = ("analyze", session, str(tmp_path / "bad.cachediag"), "--workers", "1")
    assert keys(*words, code=2) == documented("cachediag.batch/1")


RULES = """
version = 1
[[rule]]
id = "strip-header"
finding = "V01"
action = "drop-block"
protocol = "messages"
path = "system[0]"
pattern = '\\Ax-anthropic-billing-header:[^\\n]{1,400}\\z'

[[rule]]
id = "still-header"
finding = "V01"
action = "replace"
protocol = "messages"
path = "system[0].text"
pattern = '\\Ax-anthropic-billing-header: [ -~]{1,200}cch=([0-9a-f]{5});'
value = "00000"

[[rule]]
id = "late"
finding = "V02"
action = "move-to-end"
protocol = "messages"
path = "system[9].text"
pattern = '\\AToday is [0-9]{4}'
"""


def test_rules_tried_on_a_session(session: str, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RULES, encoding="utf-8")
    of_objections = documented("Objections")
    expected = documented("cachediag.rules-check/1")
    expected |= below("refusals[]", of_objections) | below("warnings[]", of_objections)
    words = ("rules", "check", session, str(file), "--profile", "vllm-mlx@0.2.6")
    # The two rules for the header meet.
    assert keys(*words, code=1) == expected
    assert keys("rules", "explain", session, str(file)) == documented("cachediag.rules-explain/1")


def test_what_grammars_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "scripted", "tests.lint.grammar.scripted")
    engines = {"scripted": "1"}, ("absent",)
    monkeypatch.setattr("cachediag.lint.grammar.costs.installed", lambda: engines)
    recorded = tmp_path / "recorded.jsonl"
    tools = [{"name": name, "input_schema": {"title": name}} for name in ("a", "b")]
    said = [{"role": "user", "content": "Which berth?"}]
    bodies = [
        {"model": "m", "max_tokens": 9, "system": "Brief.", "tools": each, "messages": said}
        for each in (tools, tools[1:])
    ]
    recorded.write_text("".join(f"{json.dumps(body)}\n" for body in bodies))
    assert keys("lint", str(recorded), "--costs") == documented("cachediag.lint-costs/1")


def test_a_probed_backend(tmp_path: Path, serve: Callable[..., Server]) -> None:
    token = b'data: {"choices":[{"delta":{"content":"ok"}}]}\n\n'
    url = serve(lambda _, reply: reply.stream(token)).url
    body = tmp_path / "body.json"
    tools = [{"name": "a", "input_schema": {}}]
    body.write_text(json.dumps({"model": "m", "tools": tools, "messages": []}))
    shown = keys("lint", str(body), "--live", "--backend", url)
    assert shown == documented("cachediag.lint-live/1")


TRACE = """\
{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [0, 1]}
{"timestamp": 9, "input_length": 700, "output_length": 3, "hash_ids": [0, 2]}
"""
SCENARIO = """
version = 1
about = "It grows"
policies = ["random"]
repeats = 1

[workload]
kind = "mooncake"
path = "trace.jsonl"

[server]
prefill_rate = 1000
decode_rate = 10
batch_rate = 100

[fleet]
replicas = 2

[[change]]
at = 0.001
replicas = 1
"""


def test_a_fleet(session: str, tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_text(TRACE, encoding="utf-8")
    scenario = tmp_path / "grows.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    figures = documented("Figures of a policy")
    figures |= {key for each in figures for key in below(each, documented("An interval"))}
    every = documented("cachediag.simulate/1") | below("policies[]", figures)
    every |= below("sweep.cells[]", figures)
    compared = keys("simulate", str(scenario), "--policy", "random", "--policy", "round-robin")
    assert compared == {key for key in every if not key.startswith("sweep.")}
    swept = keys("simulate", session, "--sweep", "--rate", "1", "--repeats", "1")
    changes = {key for key in every if key.startswith(("changes[].", "best."))}
    assert swept == every - changes


def test_schemas_judged(tmp_path: Path) -> None:
    tool = {
        "name": "book",
        "input_schema": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    }
    body = {"model": "m", "max_tokens": 9, "tools": [tool], "messages": []}
    lines = [json.dumps(body), json.dumps({**body, "tools": 7})]
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    expected = documented("cachediag.lint/1") | below("findings[]", documented("Findings"))
    assert keys("lint", str(path), "--decoder", "xgrammar", code=1) == expected
