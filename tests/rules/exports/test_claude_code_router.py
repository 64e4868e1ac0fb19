"""The script for Claude Code Router, loaded as its releases load it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cachediag.errors import UsageError
from cachediag.rules.exports import Export, exporter_of
from cachediag.rules.rule import Evidence, Rule
from tests.rules.exports.nodejs import NODE

RULES = (
    Rule("header", "V01", "drop-block", "messages", "system[0]", pattern=r"\Acch=\d;\z"),
    Rule("status", "V05", "pin", "messages", "system[*].text", pattern="^Status: ([a-z]{1,9})$"),
    Rule(
        "date", "V02", "replace", "responses", "instructions", pattern=r"\AIt is (\d+)", value="1"
    ),
)
_DRIVER = """
const [script, releases, requests] = process.argv.slice(1);
const log = { warned: [], warn(text) { this.warned.push(text); } };
(async () => {
  const answers = [];
  for (const { url, body, breaks } of JSON.parse(requests)) {
    if (releases === "3") delete require.cache[require.resolve(script)];
    const req = { url, body, log };
    if (breaks) req.body.itself = req.body;
    const chosen = await require(script)(req, {}, {});
    delete body.itself;
    answers.push({ chosen, same: req.body === body, body });
  }
  console.log(JSON.stringify({ answers, warned: log.warned }));
})();
"""


def script(rules: tuple[Rule, ...] = RULES, target: str = "made.js") -> str:
    export = Export(rules, Path("rules.toml"), Path(target))
    return exporter_of("claude-code-router").script(export)


def body(*system: str) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text} for text in system]
    return {"model": "m", "system": blocks, "messages": [], "max_tokens": 5}


@pytest.fixture(params=["2", "3"])
def routed(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Hand requests to the router; release 3 loads it anew for each."""
    if NODE is None:
        pytest.skip("node is not installed")
    place = tmp_path / "made.js"
    place.write_text(script(), encoding="utf-8")

    def routed(*requests: dict[str, Any]) -> Any:
        words = [NODE, "-e", _DRIVER, str(place), request.param, json.dumps(requests)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        return {**json.loads(done.stdout), "stderr": done.stderr}

    return routed


def test_the_body_is_changed_in_place_and_no_provider_chosen(routed):
    given = body("cch=1;", "Be brief.")
    made = routed({"url": "/v1/messages?beta=true", "body": given})
    assert made["answers"] == [{"chosen": None, "same": True, "body": body("Be brief.")}]
    assert list(made["answers"][0]["body"]) == list(given)
    assert (made["warned"], made["stderr"]) == ([], "")


def test_what_is_pinned_is_remembered_from_request_to_request(routed):
    requests = [{"url": "/v1/messages", "body": body(f"Status: {s}")} for s in ("clean", "dirty")]
    made = routed(*requests)
    assert [each["body"] for each in made["answers"]] == [body("Status: clean")] * 2


def test_a_field_that_is_dropped_is_gone(tmp_path, routed):
    rule = Rule("all", "V01", "drop-block", "messages", "system", pattern=r"\Acch=\d;\z")
    (tmp_path / "made.js").write_text(script((rule,)), encoding="utf-8")
    made = routed({"url": "/v1/messages", "body": {"system": "cch=1;", "messages": []}})
    assert made["answers"][0]["body"] == {"messages": []}


@pytest.mark.parametrize(
    ("url", "applies"),
    [
        ("http://host/preset/x/v1/messages/?beta=true#x", "messages"),
        ("/v1/messages/count_tokens", "messages"),
        ("/v1/responses", "responses"),
        ("/v1/chat/completions", None),
        ("/v1/embeddings", None),
    ],
)
def test_the_path_tells_which_rules_are_meant(routed, url, applies):
    given = {**body("cch=1;", "b"), "instructions": "It is 22"}
    made = routed({"url": url, "body": given})["answers"][0]["body"]
    assert len(made["system"]) == (1 if applies == "messages" else 2)
    assert made["instructions"] == ("It is 1" if applies == "responses" else "It is 22")


def test_on_trouble_the_body_is_the_same_and_one_warning_is_given(routed):
    given = body("cch=1;")
    made = routed(*[{"url": "/v1/messages", "body": given, "breaks": True}] * 2)
    assert [each["body"] for each in made["answers"]] == [given] * 2
    (told,) = made["warned"]
    assert told.startswith("cachediag rules: a request was passed on unchanged: ")
    assert made["stderr"].strip() == told


def test_what_was_seen_is_not_carried():
    seen = Rule("a", "V01", "sort", "chat", "tools", evidence=Evidence(seen=("a secret value",)))
    assert "secret" not in script((seen,))


@pytest.mark.parametrize("target", ["made.mjs", "made.py", "made"])
def test_a_name_that_is_no_commonjs_module_is_refused(target):
    with pytest.raises(UsageError, match="is no name for a CommonJS module"):
        script(target=target)
