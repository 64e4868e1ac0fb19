import json
import shlex
import sys

import pytest

from cachediag.backends.sandbox import Sandbox
from cachediag.fix.patch import Options
from cachediag.rules.rule import RuleSet
from cachediag.verify.backends import Given, Sandboxed, Served
from cachediag.verify.setup import PATCHED, Wanted, setup
from tests.fix.patch.sites import KNOWN, installed
from tests.verify.sessions import STRIP, session

RULES = RuleSet((STRIP,), profile="vllm-mlx@0.3.0:strip=off", model="qwen3")


def made(ruleset=None, **wanted):
    return setup(Wanted(**wanted), session(), "messages", ruleset, print)


def names(ready):
    return [arm.name for arm in ready.arms]


def test_a_server_that_runs_is_recognised_and_has_no_arms_with_the_patch(serve):
    server = serve(lambda _, reply: reply.body(b"", 404))
    server.told["/v1/models"] = b'{"data":[{"id":"tiny","owned_by":"vllm-mlx"}]}'
    ready = made(backend=f"{server.url}/v1/")
    assert isinstance(ready.place, Given)
    assert (ready.place.base_url, ready.place.kind, ready.place.model) == (
        server.url,
        "vllm-mlx",
        "tiny",
    )
    assert ready.choices[False].counter.profile.name.startswith("vllm-mlx@")
    assert names(ready) == ["as-recorded"]
    assert names(made(RULES, backend=server.url)) == ["as-recorded", "rules-only"]


@pytest.mark.parametrize(
    ("stats", "engine"),
    [
        ({"state": "on", "scope": "conversation", "capacity": 2}, "conversation-slots:slots=2"),
        ({"state": "off", "scope": "conversation", "capacity": 2}, "none"),
        ({"state": "on", "scope": "system", "capacity": 2}, "none"),
        (None, "none"),
    ],
)
def test_a_server_that_is_patched_already_is_predicted_so(serve, stats, engine):
    said = json.dumps({"engine_cache": None, "cachediag_prefix_cache": stats}).encode()
    server = serve(lambda _, reply: reply.body(said))
    server.told["/v1/models"] = b'{"data":[{"id":"tiny","owned_by":"vllm-mlx"}]}'
    server.told["/v1/cache/stats"] = said
    ready = made(RULES, backend=server.url, profile="vllm-mlx@0.3.0")
    assert ready.choices[False].engine_spec == engine


def test_what_the_rules_were_made_for_refines_what_the_backend_is():
    ready = made(RULES, sandbox="0.3.0")
    assert ready.choices[False].counter.profile.name == "vllm-mlx@0.3.0:strip=off"
    # The sandbox's model is known better.
    assert ready.choices[False].model == "qwen2.5"
    other = made(RULES, sandbox="0.6.0")
    assert other.choices[False].counter.profile.name == "vllm-mlx@0.6.0"


def test_the_sandbox_has_all_arms_and_runs_what_is_counted_by():
    ready = made(RULES, sandbox="0.3.0")
    assert isinstance(ready.place, Sandboxed)
    assert not ready.place.strips
    assert names(ready) == ["as-recorded", "rules-only", "patch-only", "both"]
    assert ready.choices[False].engine.name == "none"
    assert ready.choices[True].engine_spec == PATCHED
    plain = made(sandbox="vllm-mlx@0.3.0").place
    assert isinstance(plain, Sandboxed)
    assert plain.strips


def test_mlx_lm_cannot_be_patched():
    ready = made(RULES, sandbox="mlx-lm@0.31.3")
    assert names(ready) == ["as-recorded", "rules-only"]
    assert ready.choices[False].engine.name == "mlx-lm"
    assert list(ready.choices) == [False]
    assert ready.place == Sandboxed(ready.place.sandbox, "mlx-lm", "0.31.3")
    assert isinstance(ready.place.sandbox, Sandbox)


def test_what_was_asked_for_comes_first():
    ready = made(
        RULES, sandbox="0.3.0", profile="vllm-mlx@0.4.1", model="qwen3", engine="sglang:page=2"
    )
    choice = ready.choices[False]
    assert choice.counter.profile.name == "vllm-mlx@0.4.1"
    assert (choice.model, choice.engine_spec) == ("qwen3", "sglang:page=2")


def test_the_patch_is_predicted_as_it_is_put_in():
    assert f"conversation-slots:slots={Options().slots}" == PATCHED
    assert Options().scope == "conversation"


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A command whose interpreter finds a made-up vllm-mlx."""
    monkeypatch.setattr("cachediag.fix.patch.state.releases", lambda: KNOWN)
    installed(tmp_path)
    (tmp_path / "vllm_mlx" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return f"{shlex.quote(sys.executable)} -m vllm_mlx --port {{port}}"


def test_a_command_is_patched_where_the_patch_fits(command):
    ready = made(RULES, serve_cmd=command)
    assert isinstance(ready.place, Served)
    assert ready.place.command == (sys.executable, "-m", "vllm_mlx", "--port", "{port}")
    assert (ready.place.version, ready.place.is_kept) == ("1.0.0", False)
    assert ready.choices[False].counter.profile.name == "vllm-mlx@1.0.0"
    assert len(ready.arms) == 4


def test_any_other_command_has_no_arms_with_the_patch(tmp_path, monkeypatch):
    ready = made(RULES, serve_cmd="llama-server --port {port}")
    assert names(ready) == ["as-recorded", "rules-only"]
    assert ready.place.is_kept
    assert ready.place.name == "llama-server"
    # No release that is known.
    installed(tmp_path, b"pass\n")
    (tmp_path / "vllm_mlx" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert names(made(serve_cmd=f"{sys.executable} -m vllm_mlx {{port}}")) == ["as-recorded"]
