"""Rules before bodies with thousands of places, and rule files that are none."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.hostile_input import RULES, rule
from cachediag.errors import CachediagError
from cachediag.protocol import jsontext
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.exports import EXPORTERS, Export
from cachediag.rules.exports.claude_code_router import _rule
from cachediag.rules.file import parse_rules
from tests.hostile.refused import refusal
from tests.hostile.strategies import BODIES
from tests.hostile.work import growth
from tests.rules.exports.nodejs import NODE
from tests.rules.exports.requests import rule_lists


@pytest.mark.parametrize("case", RULES)
def test_the_work_of_a_rule_grows_with_the_places_it_changes(case):
    one, made = RULES[case]

    def body(count: int) -> bytes:
        return json.dumps(made(count)).encode()

    assert growth(body, lambda sent: apply_rules(sent, "messages", (one,)), 100, 1_000) < 1.1


# How often each block of the engine's code is entered, as V8 counts for coverage.
_DRIVER = """
const { Session } = require("node:inspector");
const session = new Session();
session.connect();
const ask = (method, given) => {
  let told;
  session.post(method, given, (error, result) => {
    if (error) throw new Error(error.message);
    told = result;
  });
  return told;
};
ask("Profiler.enable");
ask("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
const { applyRules } = require(process.argv[1]);
const entered = () =>
  ask("Profiler.takePreciseCoverage")
    .result.filter(({ url }) => url.endsWith("rules.js"))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, { count }) => sum + count, 0);
let input = "";
process.stdin.on("data", (data) => (input += data)).on("end", () => {
  for (const { texts, rule } of JSON.parse(input)) {
    const told = texts.map((text) => {
      entered();
      const made = applyRules(text, "messages", [rule], new Map());
      return [made, entered()];
    });
    console.log(JSON.stringify(told));
  }
});
"""


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("router") / "rules.js"
    export = Export((), Path("rules.toml"), target)
    target.write_text(EXPORTERS["claude-code-router"].script(export))
    return target


@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_so_does_that_of_the_engine_in_javascript(router):
    assert NODE is not None
    few, many = 100, 1_000
    asked = [
        {"rule": _rule(one), "texts": [json.dumps(made(count)) for count in (few, many)]}
        for one, made in RULES.values()
    ]
    done = subprocess.run(
        [NODE, "-e", _DRIVER, str(router)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    for (case, (one, _)), sent, made in zip(RULES.items(), asked, told, strict=True):
        bodies = [text.encode() for text in sent["texts"]]
        expected = [apply_rules(body, "messages", (one,)).body for body in bodies]
        assert [text.encode() for text, _ in made] == expected, case
        (_, of_few), (_, of_many) = made
        assert of_few > few, case
        # Half as much again for searches in what is sorted, whose steps are counted here.
        assert of_many / of_few < 1.6 * many / few, case


@pytest.mark.parametrize("said", ["a" + " " * 200_000 + "|", "a" + " \t" * 100_000 + "\na"])
def test_white_space_in_a_list_is_read_once(said):
    """Tried anew at each place, it takes minutes."""
    body = json.dumps({"system": said, "messages": []}).encode()
    made = apply_rules(body, "messages", (rule("sort", "system", by="items"),))
    assert made.body == body


@given(rule_lists, BODIES | st.binary(max_size=60), st.data())
@settings(max_examples=60, deadline=None)
def test_a_broken_body_is_refused_or_stays_json(rules, body, data):
    at = data.draw(st.integers(0, len(body)))
    broken = body[:at] + data.draw(st.sampled_from([b"", b'"', b"\\", b"\xff", b"["])) + body[at:]
    for sent in (body, broken):
        try:
            made = apply_rules(sent, "messages", rules).body
        except (ValueError, CachediagError):
            continue
        if made is not sent:
            jsontext.decode(sent)
            jsontext.decode(made)


_WORDS = st.sampled_from(
    (
        *("version = 1", "[[rule]]", "[rule]", 'id = "a"', 'finding = "V01"', "action = 1"),
        *('action = "replace"', 'protocol = "chat"', 'path = "system[0].text"', 'path = ["a"]'),
        *(r"pattern = '\Aa'", "value = {a = {}}", "evidence = []", "enabled = 1e400"),
        *("messages = nan", "a.b.c = 1", "[[rule.evidence]]", "x = 0x", "\x1b[2J", "\u2028"),
        *(r'seen = ["\u0000"]', 'by = "keys"', "requests = -99999999999999999999"),
    )
)


@given(st.lists(_WORDS | st.text(max_size=12), max_size=14).map("\n".join))
@settings(max_examples=150, deadline=None)
def test_a_rule_file_that_is_none_is_told_in_a_line(written):
    error = refusal(lambda: parse_rules(written, "rules.toml"))
    if error is not None:
        assert re.match(r"rules\.toml(:\d+)?: [^\n]+\Z", str(error))
        assert error.remedy
