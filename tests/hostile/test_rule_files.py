"""Rules before bodies that are made to take long, and rule files that are none."""

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.errors import CachediagError
from cachediag.protocol import jsontext
from cachediag.rules.engine.apply import apply_rules
from cachediag.rules.exports import EXPORTERS, Export
from cachediag.rules.exports.claude_code_router import _rule
from cachediag.rules.file import parse_rules
from cachediag.rules.rule import Rule
from tests.hostile.growth import growth
from tests.hostile.refused import refusal
from tests.hostile.strategies import BODIES
from tests.rules.exports.nodejs import NODE
from tests.rules.exports.requests import rule_lists

Body = Callable[[int], dict[str, object]]


def rule(action: str, path: str, pattern: str | None = None, **more: object) -> Rule:
    return Rule("r", "V01", action, "messages", path, pattern, **more)  # type: ignore[arg-type]


def text(said: str) -> dict[str, object]:
    return {"type": "text", "text": said}


def system(count: int) -> dict[str, object]:
    blocks = [text(f"x{number}") for number in range(count)]
    return {"system": blocks, "messages": [{"role": "user", "content": "hi"}]}


def lines(count: int) -> dict[str, object]:
    return {"system": "\n".join(f'"é{number}' for number in range(count, 0, -1)), "messages": []}


def items(count: int) -> dict[str, object]:
    return {"system": ",".join(f"é{number}" for number in range(count, 0, -1)), "messages": []}


def tools(count: int) -> dict[str, object]:
    named = [{"name": f"t{n:09}", "input_schema": {"b": 1, "a": 2}} for n in range(count, 0, -1)]
    return {"tools": named, "messages": []}


def talk(role: str, *around: str) -> Body:
    def body(count: int) -> dict[str, object]:
        said = [{"role": role, "content": f"x{number}"} for number in range(count)]
        other = [{"role": each, "content": "hi"} for each in around]
        return {"messages": [*other[:1], *said, *other[1:]]}

    return body


def turns(count: int) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": [text(f"x{n}")]} for n in range(count)]}


def context(count: int) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": [text(f"x{n}") for n in range(count)]}]}


_SPOKEN = "messages[*].content[*].text"
_CASES: dict[str, tuple[Rule, Body]] = {
    "replace": (rule("replace", "system[*].text", r"\Ax(\d+)", value="0"), system),
    "drop": (rule("drop-block", "system[*]", r"\Ax\d+\z"), system),
    "drop messages": (
        rule("drop-block", "messages[*]", r"\Ax\d+\z"),
        talk("system", "system", "user"),
    ),
    "move": (rule("move-to-end", "system[*]", r"\Ax\d+\z"), system),
    "pin": (rule("pin", "system[*].text", r"\Ax(\d+)"), system),
    "sort lines": (rule("sort", "system", by="lines"), lines),
    "sort items": (rule("sort", "system", by="items"), items),
    "sort tools": (rule("sort", "tools", by="name"), tools),
    "sort keys": (rule("sort", "tools", by="keys"), tools),
    "keep inline": (rule("keep-inline", "messages[*]"), talk("system", "user")),
    "keep none": (rule("keep-inline", "messages[*]"), talk("system", "system", "user")),
    "a user's turns": (rule("replace", _SPOKEN, r"\Ax(\d+)", value="0", messages=True), turns),
    "a user's blocks": (rule("replace", _SPOKEN, r"\Ax(\d+)", value="0", messages=True), context),
}
_FEW, _MANY = 250, 2_500
_LINEAR = 4.0
"""Ten where the time grows with the square."""


@pytest.mark.parametrize("case", _CASES)
def test_the_time_of_a_rule_grows_with_the_places_it_changes(case):
    one, made = _CASES[case]

    def body(count: int) -> bytes:
        return json.dumps(made(count)).encode()

    assert growth(body, lambda sent: apply_rules(sent, "messages", (one,)), _FEW, _MANY) < _LINEAR


_DRIVER = """
const { applyRules } = require(process.argv[1]);
let input = "";
process.stdin.on("data", (data) => (input += data)).on("end", () => {
  for (const { name, texts, rule } of JSON.parse(input)) {
    const best = texts.map((text) =>
      Math.min(...[1, 2].map(() => {
        const before = process.cpuUsage();
        applyRules(text, "messages", [rule], new Map());
        const { user, system } = process.cpuUsage(before);
        return user + system;
      })),
    );
    console.log(JSON.stringify([name, ...best]));
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
    few, many = 500, 5_000
    asked = [
        {"name": case, "rule": _rule(one), "texts": [json.dumps(made(n)) for n in (few, many)]}
        for case, (one, made) in _CASES.items()
    ]
    done = subprocess.run(
        [NODE, "-e", _DRIVER, str(router)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [case for case, *_ in told] == list(_CASES)
    # What takes less than a few milliseconds is measured by chance.
    slow = [(c, a, b) for c, a, b in told if b > _LINEAR * max(a, 3_000) * many / few]
    assert slow == []


@pytest.mark.parametrize("said", ["a" + " " * 3_000 + "|", "a" + " \t" * 3_000 + "\na"])
def test_white_space_in_a_list_is_read_once(said):
    body = json.dumps({"system": said, "messages": []}).encode()
    before = time.process_time()
    made = apply_rules(body, "messages", (rule("sort", "system", by="items"),))
    assert (made.body, time.process_time() - before < 1) == (body, True)


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
