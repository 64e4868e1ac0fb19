from importlib import import_module

import pytest

from cachediag.backends import recognise
from cachediag.backends.recognise import from_responses
from tests.backends.answers import answer, owned_by, serving, there

MODULE = import_module("cachediag.backends.recognise")


def test_only_what_tells_the_version_is_asked_of_a_server_that_names_itself():
    responses = {"/v1/models": owned_by("vllm"), "/version": answer({"version": "0.12.0"})}
    with serving(responses) as (url, asked):
        found = there(recognise(url))
        assert (found.kind, found.version, found.profile) == ("vllm", "0.12.0", "vllm")
        assert str(found) == "vllm 0.12.0"
        assert asked == ["/v1/models", "/health", "/version"]


def test_a_server_that_does_not_name_itself_is_asked_more():
    responses = {
        "/": answer("Ollama is running"),
        "/api/version": answer({"version": "0.12.6"}),
        "/v1/models": owned_by("library"),
    }
    with serving(responses) as (url, asked):
        assert str(recognise(url)) == "ollama 0.12.6"
        assert len(asked) == len(set(asked)) > 5


def test_a_server_that_is_not_known():
    with serving({"/health": answer("fine")}) as (url, _):
        assert recognise(url) is None
    assert recognise("http://127.0.0.1:9", timeout=0.5) is None


def test_vendors_are_told_by_their_address_and_never_asked(monkeypatch):
    def fail(*_, **__):
        pytest.fail("asked")

    monkeypatch.setattr(MODULE, "get_all", fail)
    monkeypatch.setattr(MODULE, "is_near", lambda _: False)
    assert there(recognise("https://api.anthropic.com")).profile == "anthropic"
    assert there(recognise("https://api.openai.com/v1")).engine == "openai"
    assert recognise("https://models.example.com") is None


def test_what_is_sure_comes_before_what_is_likely():
    mlx_lm = answer({"status": "ok"}, server="BaseHTTP/0.6", access_control_allow_methods="*")
    assert there(from_responses({"/health": mlx_lm})).kind == "mlx-lm"
    assert str(from_responses({"/health": mlx_lm})) == "probably mlx-lm"
    both = {"/health": mlx_lm, "/v1/models": owned_by("omlx")}
    assert there(from_responses(both)).kind == "omlx"
    assert from_responses({}) is None
