"""Real grammar engines: tags hold answers to their syntax, verdicts are true, costs are measured.

The engines stand in an environment of their own, see `grammar_packages`.
"""

import json
from pathlib import Path

import pytest

from cachediag.backends.sandbox import running
from cachediag.capture.importers import open_source
from cachediag.lint import Collected, collect
from cachediag.lint.grammar.costs import tool
from cachediag.lint.live import Bounds, probe
from cachediag.lint.structural_tag import SYNTAXES, emit
from cachediag.lint.verdicts import verdict
from tests.lint.corpus import CORPUS
from tests.lint.grammar.sessions import schema
from tests.lint.structural_tag.samples import ACCEPTED, REJECTED, TOOLS

from .clients import claude_code, environment, record, run
from .engines_packages import live_sandbox, package
from .grammar_packages import ENGINES, compiled, engine_environment, grammar_python, guidance_alone
from .upstream import Text, Turns, Upstream

CASES = Path(__file__).parents[2] / "fixtures" / "cases"
RELEASE = "2.1.113"
QUESTION = "How deep is the harbour?"
SPELLED_OTHERWISE = {
    "xgrammar": {"terminal-escapes", "pattern-properties"},
    "llguidance": {"terminal-escapes"},
}
"""Schemas whose fitting output is refused all the same: a name of a property has one spelling only,
and to xgrammar a pattern of names is one of whole names."""


def alone(content):
    form = {"type": "json_schema", "json_schema": content}
    return {"type": "structural_tag", "format": form}


def compiles(content, engine) -> bool:
    """What lint says of a schema."""
    return verdict(content, engine).outcome != "rejects"


def test_answers_in_the_syntax_of_the_model_and_no_others_are_accepted() -> None:
    names = list(SYNTAXES)
    tasks = [(emit(TOOLS, SYNTAXES[name]), ACCEPTED[name] + REJECTED[name]) for name in names]
    begun = [
        (
            emit(TOOLS, SYNTAXES[name], thinking=True),
            [f"Hm.\n</think>\n\n{ACCEPTED[name][1]}", ACCEPTED[name][1], REJECTED[name][0]],
        )
        for name in names
    ]
    found = compiled("xgrammar", [*tasks, *begun])
    for name, each in zip(names, found, strict=False):
        assert each.fits == (True,) * len(ACCEPTED[name]) + (False,) * len(REJECTED[name]), name
    for name, each in zip(names, found[len(names) :], strict=True):
        assert each.fits == (True, False, False), name


def test_the_other_engine_holds_calls_of_json_to_the_same() -> None:
    names = [name for name, each in SYNTAXES.items() if each.is_json]
    # It knows no thinking, in which a wrong call may be spoken of.
    right = {name: [each for each in ACCEPTED[name] if "Not " not in each] for name in names}
    tasks = [(emit(TOOLS, SYNTAXES[name]), [*right[name], *REJECTED[name]]) for name in names]
    for name, each in zip(names, compiled("llguidance", tasks), strict=True):
        # Several calls in one list are beyond what it is given.
        lists = [text.count("<｜tool▁call▁begin｜>") > 1 for text in right[name]]
        assert [fits or many for fits, many in zip(each.fits, lists, strict=False)] == [True] * len(
            right[name]
        ), name
        assert not any(each.fits[len(right[name]) :]), name


@pytest.mark.parametrize("engine", ENGINES)
def test_the_verdict_on_a_schema_is_what_the_engine_does(engine) -> None:
    assert len(CORPUS) >= 60
    assert sum(each.hostile for each in CORPUS) >= 20
    texts = [(*each.fits, *each.breaks.values()) for each in CORPUS]
    tasks = [(alone(each.schema), some) for each, some in zip(CORPUS, texts, strict=True)]
    wrong, refused = [], set()
    for entry, found in zip(CORPUS, compiled(engine, tasks), strict=True):
        said = verdict(entry.schema, engine)
        if (found.outcome == "compiled") != (said.outcome != "rejects"):
            wrong.append((entry.name, said, found))
        elif found.outcome == "compiled":
            count = len(entry.fits)
            passed = {
                keyword
                for keyword, fits in zip(entry.breaks, found.fits[count:], strict=True)
                if fits
            }
            ignored = {each.keyword for each in said.ignored} & set(entry.breaks)
            if passed != ignored:
                wrong.append((entry.name, said, found))
            if not all(found.fits[:count]):
                refused.add(entry.name)
    assert wrong == []
    assert refused == SPELLED_OTHERWISE[engine]


def of_cases() -> Collected:
    """The schemas of every case of the collection."""
    bodies = [
        exchange
        for case in sorted(CASES.iterdir())
        if case.is_dir()
        for exchange in open_source(case).exchanges()
    ]
    return collect(bodies)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_tools_of_every_case(engine) -> None:
    schemas = of_cases().schemas
    assert len(schemas) > 20
    found = compiled(engine, [(alone(each.schema), ()) for each in schemas])
    for each, result in zip(schemas, found, strict=True):
        expected = "compiled" if compiles(each.schema, engine) else "rejected"
        assert result.outcome == expected, (each.name, each.schema, result)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session of the real Claude Code: one turn, and the next."""
    home = tmp_path_factory.mktemp("home")
    env = environment(home)
    run(["git", "init", "-q", "-b", "main"], env=env, cwd=home)
    session = home / "deep.cachediag"
    with Upstream(Turns({QUESTION: [[Text("Nine fathoms.")]]})) as upstream:
        said = record(
            [claude_code(RELEASE), "-p", QUESTION],
            session,
            "--upstream",
            upstream.url,
            env=env,
            cwd=home,
        )
    assert said.stdout == b"Nine fathoms.\n", said.stderr
    return session


@pytest.mark.parametrize("engine", ENGINES)
def test_the_tools_of_a_real_client(engine, recording: Path) -> None:
    collected = collect(open_source(str(recording)).exchanges())
    assert len(collected.schemas) > 15
    tasks = [(emit([tool(each)], SYNTAXES["hermes"]), ()) for each in collected.schemas]
    found = compiled(engine, tasks)
    for each, result in zip(collected.schemas, found, strict=True):
        expected = "compiled" if compiles(each.schema, engine) else "rejected"
        assert (result.outcome, result.warnings) == (expected, ()), (each.name, result)


def test_the_costs_of_a_real_client_come_out_of_one_command(recording: Path) -> None:
    words = ("-m", "cachediag", "lint", recording, "--costs", "--format", "json")
    with engine_environment() as env:
        done = run([grammar_python(), *words], env=env, cwd=recording.parent, timeout=300)
    assert done.code == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["schema"], document["tokenizer"]) == ("cachediag.lint-costs/1", "qwen3")
    first, second = document["engines"]
    assert {first["engine"]: first["version"], second["engine"]: second["version"]} == ENGINES
    group = max(first["groups"], key=lambda each: len(each["tools"]))
    assert group["left_out"] == []
    assert group["bytes"] > 1_000_000
    # Loose, for a machine that does other things: the true ratios are far beyond.
    assert 0 < group["again_s"] < group["new_compiler_s"] / 20
    one_more = first["one_more"]
    assert one_more["kept_compiler_s"] < one_more["new_compiler_s"] / 1.5
    largest = max(second["groups"], key=lambda each: len(each["tools"]))
    assert second["one_more"] is None
    assert largest["new_compiler_s"] < group["new_compiler_s"]


def test_a_schema_that_stalls_a_real_server_is_named() -> None:
    place = package("vllm-mlx", "0.6.0")
    plain = {
        "type": "object",
        "properties": {"depth": {"type": "integer"}},
        "required": ["depth"],
        "additionalProperties": False,
    }
    wide = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(3000)}}
    schemas = [
        schema("depth", plain, kind="response"),
        schema("depths", {"type": "array", "uniqueItems": True}, kind="response"),
        schema("sound", plain),
        schema("wide", wide, kind="response"),
        schema("after", plain, kind="response"),
    ]
    path = {"PYTHONPATH": f"{place}:{guidance_alone()}"}
    with running(live_sandbox(), "vllm-mlx", "0.6.0", environment=path) as it:
        bounds = Bounds(seconds=8.0, recovery=4.0)
        # What it loads for the first constrained answer is not the schema's.
        probe(it.base_url, schemas[:1], model=it.model, bounds=Bounds(seconds=60.0))
        found = probe(it.base_url, schemas, model=it.model, bounds=bounds)
    states = [each.state for each in found.probed]
    assert states[:4] == ["answered", "refused", "answered", "stalled"], found
    assert found.probed[3].first_token is None
    assert found.stopped == (len(states) == 4)


def test_a_server_without_the_engine_says_so() -> None:
    schemas = [schema("depth", {"type": "integer"}, kind="response")]
    with running(live_sandbox(), "vllm-mlx", "0.6.0") as it:
        found = probe(it.base_url, schemas, model=it.model)
    (only,) = found.probed
    assert (only.state, only.healthy) == ("refused", True)
    assert "llguidance is required" in str(only.message)
