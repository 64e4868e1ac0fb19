"""A recording of a server that can be recognised, and what other commands make of it."""

import json
import os
import subprocess
import sys

import pytest

from cachediag.session import Session
from tests.cli.running import ROOT, bare, ran

MODELS = b'{"object":"list","data":[{"id":"m","owned_by":"llamacpp"}]}'
CLIENT = """
import json, os, time, urllib.request

for number in range(2):
    turn = {"role": "user", "content": f"turn {number}"}
    body = json.dumps({"model": "tiny", "system": "Be brief.", "messages": [turn]}).encode()
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    urllib.request.urlopen(request, timeout=20).read()
time.sleep(1)
"""


@pytest.fixture
def upstream(serve):
    body = b'{"content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}'
    return serve(lambda request, reply: reply.body(body, content_type="application/json"))


@pytest.fixture
def recorded(upstream, tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("CACHEDIAG_HOME", str(home))
    path = tmp_path / "s.cachediag"

    def record(*options):
        named = options or ("--upstream", upstream.url)
        command = [sys.executable, "-m", "cachediag", "record", *named, "-o", path, "--"]
        kept = ("HOME", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL")
        done = subprocess.run(
            [*command, sys.executable, "-c", CLIENT],
            env=bare(home) | {name: os.environ[name] for name in kept if name in os.environ},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return path, done.stderr

    return record


def meta(path):
    with Session.open(path) as session:
        return session.meta


def test_the_server_is_asked_once_and_named_and_its_profile_counts(recorded, upstream, capsys):
    upstream.told["/v1/models"] = MODELS
    upstream.told["/props"] = b'{"build_info": "b8681-abc"}'
    path, said = recorded()
    assert f"{upstream.url} is llama.cpp b8681-abc" in said.splitlines()
    assert [each.path for each in upstream.asked] == ["/v1/models", "/health", "/props"]
    assert {each.method for each in upstream.asked} == {"GET"}
    assert not any("authorization" in each.headers for each in upstream.asked)
    kept = meta(path)
    assert (kept["backend"], kept["profile"]) == ("llama.cpp b8681-abc", "llama.cpp")
    assert kept["backend_endpoints"] == "messages count_tokens chat responses"
    document = json.loads(ran(capsys, "analyze", path, "--format", "json").out)
    assert (document["profile"], document["engine"]) == ("llama.cpp", "llama.cpp")
    shown = ran(capsys, "analyze", path).out
    assert shown.splitlines()[2] == "recorded from llama.cpp b8681-abc"
    assert "llama.cpp" in ran(capsys, "diff", path, "--pair", "0:1").out.splitlines()[0]
    named = json.loads(ran(capsys, "analyze", path, "--profile", "vllm", "--format", "json").out)
    assert (named["profile"], named["engine"]) == ("vllm", "vllm")
    assert "recorded from" not in ran(capsys, "analyze", path, "--profile", "vllm").out


def test_a_server_that_is_not_recognised_changes_nothing(recorded, upstream, capsys):
    path, said = recorded()
    assert " is " not in said.split("\n\n")[0]
    assert "backend" not in meta(path)
    document = json.loads(ran(capsys, "analyze", path, "--format", "json").out)
    assert document["profile"] == "anthropic"


def test_only_requests_that_went_there_are_counted_so(
    recorded, upstream, serve, monkeypatch, capsys
):
    other = serve(lambda request, reply: reply.body(b"{}"))
    other.told["/v1/models"] = MODELS
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{other.url}/v1")
    path, said = recorded("--port", "0")
    assert f"{other.url} is llama.cpp" in said.splitlines()
    assert meta(path)["backend_endpoints"] == "chat responses"
    document = json.loads(ran(capsys, "analyze", path, "--format", "json").out)
    assert document["profile"] == "anthropic"
