"""`lint` with engines: costs, structural tags, probes, and what it says where they cannot be."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cachediag.cli import app, lint_engines
from cachediag.errors import CachediagError
from cachediag.lint.grammar import costs, engine
from cachediag.lint.grammar.engine import ENGINES
from cachediag.lint.structural_tag import SYNTAXES, Tool, emit

TOKEN = b'data: {"choices":[{"delta":{"content":"ok"}}]}\n\n'
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def body(model="qwen3", **changed):
    tools = [{"name": "read", "input_schema": SCHEMA}, {"type": "computer", "name": "screen"}]
    turn = {"role": "user", "content": "Hello."}
    return {"model": model, "tools": tools, "messages": [turn]} | changed


@pytest.fixture
def session(tmp_path: Path):
    """Write a session of these bodies, and give its path."""

    def write(*bodies) -> str:
        for number, each in enumerate(bodies):
            (tmp_path / f"{number}.json").write_text(json.dumps(each))
        return str(tmp_path)

    return write


def run(*words, code=0):
    done = CliRunner().invoke(app, ["lint", *words])
    if isinstance(done.exception, CachediagError):
        assert done.exception.exit_code == code
        return done.exception
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_the_tag_of_a_request(session) -> None:
    path = session(body(), body(tools=[]))
    done = run(path, "--emit", "structural-tag", "--request", "0", "--model", "qwen3")
    tools = [Tool("read", SCHEMA), Tool("screen")]
    assert json.loads(done.stdout) == emit(tools, SYNTAXES["hermes"])
    done = run(path, "--emit", "structural-tag", "--request", "1")
    assert json.loads(done.stdout)["format"]["elements"][1] == {"type": "any_text"}


def test_the_syntax_is_the_models_or_the_one_that_is_named(session) -> None:
    path = session(body("mlx-community/Qwen3-Coder-30B-A3B"))
    words = (path, "--emit", "structural-tag", "--request", "0")
    assert "<function=read>" in run(*words).stdout
    assert "<function=" not in run(*words, "--model", "qwen2.5").stdout
    assert '\\"parameters\\"' in run(*words, "--syntax", "llama3_json").stdout


def test_a_template_that_begins_the_thinking(session, tmp_path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    text = "{% for m in messages %}{{ m.content }}{% endfor %}<tool_call> arguments <think>\n"
    (model / "chat_template.jinja").write_text(text)
    other = tmp_path / "bodies"
    other.mkdir()
    (other / "0.json").write_text(json.dumps(body()))
    done = run(str(other), "--emit", "structural-tag", "--request", "0", "--model", str(model))
    first, _ = json.loads(done.stdout)["format"]["elements"]
    assert (first["type"], first["begin"], first["end"]) == ("tag", "", "</think>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--emit", "structural-tag"), "--request N is missing"),
        (("--emit", "structural-tag", "--request", "0"), "how claude-opus-4-7 writes a tool call"),
        (("--emit", "structural-tag", "--request", "7"), "7"),
        (("--live",), "--backend URL is missing"),
        (("--live", "--costs"), "--costs and --live are done one at a time"),
        (("--live", "--backend", "https://api.anthropic.com"), "a paid API is not probed"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(session, words, message) -> None:
    told = run(session(body("claude-opus-4-7")), *words, code=2)
    assert message in str(told)
    assert "\n" not in str(told)


def test_without_the_extra(session, monkeypatch) -> None:
    monkeypatch.setattr(engine, "ENGINES", {"no-such-package": "x"})
    told = run(session(body()), "--costs", code=2)
    assert "neither is installed" in str(told)
    assert told.remedy == "pip install 'cachediag[grammar]'"


def test_the_costs(session, monkeypatch) -> None:
    monkeypatch.setitem(ENGINES, "scripted", "tests.lint.grammar.scripted")
    monkeypatch.setattr(costs, "installed", lambda: ({"scripted": "1.2"}, ("absent",)))
    path = session(body("claude-opus-4-7"), body("claude-opus-4-7"))
    done = run(path, "--costs")
    # A hosted model's tokenizer is no engine's.
    assert "tokenizer qwen3\n" in done.stdout
    assert "scripted 1.2   calls as hermes" in done.stdout
    assert "0-1" in done.stdout
    assert "absent is not installed" in done.stdout
    assert "loading scripted" in done.stderr
    document = json.loads(run(path, "--costs", "--model", "qwen2.5", "--format", "json").stdout)
    assert document["tokenizer"] == "qwen2.5"


def test_a_backend_that_answers_and_one_that_refuses(session, serve) -> None:
    def answer(request, reply):
        if b"refuse" in request.body:
            reply.body(b"no", 400)
        else:
            reply.stream(TOKEN)

    path = session(body())
    server = serve(answer)
    words = (path, "--live", "--backend", f"{server.url}/", "--header", "X-Key=1")
    done = run(*words)
    assert "answered" in done.stdout
    assert {each.headers["x-key"] for each in server.received} == {"1"}
    assert json.loads(server.bodies[-1])["model"] == "qwen3"
    server.told["/v1/models"] = json.dumps({"data": [{"id": "own"}]}).encode()
    run(*words)
    assert json.loads(server.bodies[-1])["model"] == "own"
    refused = session(body(tools=[{"name": "refuse", "input_schema": {}}]))
    assert "refused" in run(refused, *words[1:], code=1).stdout


def test_a_server_that_does_not_recover(session, serve, monkeypatch) -> None:
    from cachediag.lint import live

    bounds = live.Bounds(seconds=0.5, recovery=0.3)
    monkeypatch.setattr(live, "Bounds", lambda: bounds)
    dead: list[bool] = []

    def answer(request, reply):
        if b"tools" in request.body:
            dead.append(True)
        if dead:
            reply.hang_up()
        else:
            reply.stream(TOKEN)

    done = run(session(body()), "--live", "--backend", serve(answer).url, code=3)
    assert "answers no request after it" in done.stdout


def test_a_session_without_schemas_has_nothing_to_probe_with(session) -> None:
    told = run(session(body(tools=[])), "--live", "--backend", "http://127.0.0.1:9", code=2)
    assert "no request has a tool or a response format" in str(told)


def test_the_tokenizer_of_a_recorded_model_that_is_here() -> None:
    assert lint_engines._tokenizer(None, [None, "claude-opus-4-7", "qwen2.5"]) == "qwen2.5"
    assert lint_engines._tokenizer(None, ["some/Model"]) == "qwen3"
