"""Recognising real servers, and reading what they tell, release by release."""

import json

import pytest

from cachediag.backends import begin, readings, recognise
from cachediag.backends.sandbox import RELEASES, copy_of, keep_billing_header, running
from tests.live.engines_packages import live_sandbox
from tests.live.engines_servers import Server
from tests.live.engines_sessions import _chat_body, _message_body

SYSTEM = "You keep the ledger of the harbour. " * 30
TURN = {"role": "user", "content": "What lies at the quay?"}


def told(base_url, server, path, endpoint, body):
    """What the backend tells of a request: cached, prefilled, where, and how sure."""
    recognised = recognise(base_url)
    assert recognised is not None
    watch = begin(base_url, recognised, server.log)
    answer = server.post(path, json.dumps({"model": server.model, **body}).encode())
    found = readings(watch, endpoint, answer.content_type, answer.body)
    return [(each.cached, each.prefilled, each.source.split(" ")[0], each.sure) for each in found]


@pytest.mark.parametrize("release", RELEASES["vllm-mlx"])
def test_a_release_of_vllm_mlx(release):
    with running(live_sandbox(), "vllm-mlx", release) as it:
        recognised = recognise(it.base_url)
        assert recognised is not None
        assert str(recognised) == f"vllm-mlx {release}, SimpleEngine"
        assert (recognised.version_sure, recognised.profile) == ("exact", f"vllm-mlx@{release}")
        server = Server(it.base_url, it.model, it.log)
        body = _message_body([TURN], SYSTEM, 2)
        first, second = (
            told(it.base_url, server, "/v1/messages", "messages", body) for _ in range(2)
        )
    if release < "0.4":
        assert first == second == [(0, None, "vllm-mlx", "exact")]
        return
    (_, whole, _, _), counted = first
    assert first == [(0, whole, "log", "exact"), (0, None, "counters", "exact")]
    assert counted[2] == "counters"
    cached, new, *_ = second[0]
    assert cached + new == whole
    assert cached > 250
    assert second[1] == (None, None, "counters", "exact")


@pytest.mark.parametrize("release", RELEASES["mlx-lm"])
def test_a_release_of_mlx_lm(release):
    with running(live_sandbox(), "mlx-lm", release) as it:
        recognised = recognise(it.base_url)
        assert recognised is not None
        assert str(recognised) == "probably mlx-lm"
        server = Server(it.base_url, it.model, it.log)
        body = _chat_body([TURN], SYSTEM, 2)
        path = "/v1/chat/completions"
        first, second = (told(it.base_url, server, path, "chat", body) for _ in range(2))
    source = "usage.prompt_tokens_details.cached_tokens"
    assert first == [(0, first[0][1], source, "exact")]
    assert second == [(first[0][1] - 1, 1, source, "exact")]


def test_the_billing_header_reaches_the_prompt_where_its_removal_is_off(tmp_path):
    body = _message_body([TURN], SYSTEM, 0, stream=False)
    counted = []
    for keeps in (False, True):
        site = copy_of(live_sandbox(), "vllm-mlx", "0.3.0", tmp_path / str(keeps))
        if keeps:
            assert keep_billing_header(site) == 1
        with running(live_sandbox(), "vllm-mlx", "0.3.0", site_dir=site) as it:
            server = Server(it.base_url, it.model, it.log)
            request = json.dumps({"model": it.model, **body}).encode()
            answer = json.loads(server.post("/v1/messages", request).body)
            counted.append(answer["usage"]["input_tokens"])
    assert counted[0] + 20 < counted[1] < counted[0] + 50
