"""The engines that scripts carry come to what this package's own does, byte for byte."""

import json
import subprocess
import types
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.model import Endpoint
from cachediag.protocol import parse
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.engine.pins import Pins
from cachediag.rules.exports import EXPORTERS, Export
from cachediag.rules.exports.claude_code_router import _rule
from cachediag.rules.rule import Rule
from tests.rules.exports.nodejs import NODE
from tests.rules.exports.requests import RULES, Spelling, bodies, plain_requests, rule_lists

# What `pin` remembers would go from one example to the next.
_FORGETFUL = tuple(rule for rule in RULES if rule.action != "pin")

_PROTOCOLS = st.sampled_from(["messages", "chat", "responses"])
_DRIVER = """
const router = require(process.argv[1]);
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const { texts, protocol, rules, url, body } = JSON.parse(line);
  if (url) {
    const req = { url, body, log: console };
    const chosen = await router(req);
    console.log(JSON.stringify({ chosen, body: req.body }));
  } else {
    const pins = new Map();
    const made = texts.map((text) => router.applyRules(text, protocol, rules, pins));
    console.log(JSON.stringify(made));
  }
});
"""


def _script(exporter: str, suffix: str, rules: tuple[Rule, ...]) -> str:
    export = Export(rules, Path("rules.toml"), Path(f"made{suffix}"))
    return EXPORTERS[exporter].script(export)


@pytest.fixture(scope="module")
def carried() -> Any:
    """The module that an exported script in Python is."""
    module = types.ModuleType("made")
    exec(_script("asgi", ".py", ()), module.__dict__)
    return module


Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask an exported script in JavaScript."""
    if NODE is None:
        pytest.skip("node is not installed")
    script = tmp_path_factory.mktemp("js") / "made.js"
    script.write_text(_script("claude-code-router", ".js", _FORGETFUL), encoding="utf-8")
    with subprocess.Popen(
        [NODE, "-e", _DRIVER, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(**question: Any) -> Any:
            stdin.write(json.dumps(question) + "\n")
            stdin.flush()
            return json.loads(stdout.readline())

        yield ask
        stdin.close()


@given(st.lists(bodies(), min_size=1, max_size=3), _PROTOCOLS, rule_lists)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_python(carried, sent, protocol, rules):
    own, theirs = Pins(), carried.Pins()
    copies = [carried.Rule(**asdict(rule)) for rule in rules]
    for body in sent:
        expected = apply_rules(body, protocol, rules, own)
        made = carried.apply_rules(body, protocol, copies, theirs)
        assert made.body == expected.body
        assert (made.body is body) == (expected.body is body)


@given(st.lists(bodies(), min_size=1, max_size=3), _PROTOCOLS, rule_lists)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_javascript(ask, sent, protocol, rules):
    pins = Pins()
    expected = [apply_rules(body, protocol, rules, pins).body for body in sent]
    made = ask(
        texts=[body.decode() for body in sent],
        protocol=protocol,
        rules=[_rule(rule) for rule in rules],
    )
    assert [text.encode() for text in made] == expected


def canonical(body: bytes, protocol: Endpoint) -> list[tuple[str, bytes]]:
    """What every cache sees of a request."""
    return [(block.role, block.canonical) for block in parse(body, protocol).blocks]


@given(st.data(), plain_requests)
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_a_request_that_was_parsed(ask, data, request_):
    body = Spelling(data.draw, odd=False).of({"messages": [], **request_}).encode()
    answer = ask(url="/v1/messages?beta=true", body=json.loads(body))
    assert answer["chosen"] is None
    made = json.dumps(answer["body"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert canonical(made, "messages") == canonical(
        apply_rules(body, "messages", _FORGETFUL).body, "messages"
    )
