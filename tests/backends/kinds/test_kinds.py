"""What each backend answers, as its documentation has it, and what is read of it.

The sources are named in each kind's module.
"""

import json

import pytest

from cachediag.backends.kinds import PROBES, Reading, Recognised
from tests.backends.answers import answer, owned_by, there, usage

NAMES = {
    *("anthropic", "vllm-mlx", "mlx-lm", "rapid-mlx", "mlx-serve", "omlx", "llama.cpp", "ollama"),
    *("vllm", "sglang", "mtplx", "claude-code-local", "lm-studio"),
}


def test_every_kind_is_in_the_table():
    assert set(PROBES) == NAMES


def read(kind, endpoint, body, content_type="application/json", **known):
    recognised = Recognised(kind=kind, sure="exact", evidence="", **known)
    return PROBES[kind].read_usage(recognised, endpoint, content_type, body)


# --- recognising ---

LM_STUDIO = {"data": [{"id": "m", "compatibility_type": "mlx", "state": "loaded"}]}
RAPID = 'rapid_mlx_build_info{version="0.9.13",model="qwen"} 1\n'
LOCAL = {"status": "ok", "model": "m", "prefill_size": 4096}
FORMS = [
    ("vllm", {"/v1/models": owned_by("vllm")}, None, "exact"),
    ("sglang", {"/v1/models": owned_by("sglang")}, None, "exact"),
    ("sglang", {"/v1/models": owned_by("sglang"), "/get_server_info": answer({"version": "0.5.4"})},
     "0.5.4", "exact"),
    ("rapid-mlx", {"/metrics": answer(RAPID), "/v1/models": owned_by("vllm-mlx")}, "0.9.13",
     "exact"),
    ("rapid-mlx", {"/v1/models": owned_by("rapid-mlx")}, None, "exact"),
    ("mlx-serve", {"/metrics": answer("mlx_serve:prefill_tokens_total 1\nvllm:x 2\n")}, None,
     "exact"),
    ("mlx-serve", {"/": answer("<title>mlx-serve</title>")}, None, "estimate"),
    ("omlx", {"/v1/models": owned_by("omlx")}, None, "exact"),
    ("mtplx", {"/v1/models": owned_by("mtplx")}, None, "exact"),
    ("llama.cpp", {"/health": answer({"status": "ok"}, server="llama.cpp"),
                   "/props": answer({"build_info": "b8681-Debian"})}, "b8681-Debian", "exact"),
    ("llama.cpp", {"/v1/models": owned_by("llamacpp")}, None, "exact"),
    ("ollama", {"/": answer("Ollama is running\n"), "/api/version": answer({"version": "0.12.6"})},
     "0.12.6", "exact"),
    ("ollama", {"/v1/models": owned_by("library"), "/api/version": answer({"version": "0.9.0"})},
     "0.9.0", "estimate"),
    ("claude-code-local", {"/health": answer(LOCAL)}, None, "exact"),
    ("lm-studio", {"/api/v0/models": answer(LM_STUDIO)}, None, "exact"),
    ("mlx-lm", {"/health": answer({"status": "ok"}, server="BaseHTTP/0.6 Python/3.11.7",
                                  access_control_allow_methods="*")}, None, "estimate"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "responses", "version", "sure"), FORMS)
def test_a_backend_is_recognised_and_no_other_takes_it(kind, responses, version, sure):
    found = {name: probe.recognise(responses) for name, probe in PROBES.items()}
    first = next(each for each in found.values() if each is not None)
    assert (first.kind, first.version, first.sure) == (kind, version, sure)
    others = {name for name, each in found.items() if each is not None} - {kind}
    assert others <= {"vllm-mlx"}  # which Rapid-MLX calls itself too


@pytest.mark.parametrize("body", ["", "[]", "7", '{"data": 7}', '{"data": [7, {"owned_by": 3}]}'])
@pytest.mark.parametrize("status", [200, 401, 500])
def test_nothing_is_recognised_in_odd_answers(body, status):
    paths = {"/", "/v1/models", "/health", *(p for each in PROBES.values() for p in each.paths)}
    responses = {path: answer(body, status) for path in paths}
    assert [probe.recognise(responses) for probe in PROBES.values()] == [None] * len(PROBES)


def test_a_version_is_not_taken_at_its_word():
    responses = {"/v1/models": owned_by("vllm"), "/version": answer({"version": "0.1\x1b[31m"})}
    assert there(PROBES["vllm"].recognise(responses)).version is None


# --- usage ---

DISJOINT = {"anthropic", "rapid-mlx", "llama.cpp", "vllm", "vllm-mlx"}
INCLUSIVE = {"mlx-serve", "sglang"}
UNDOCUMENTED = {"omlx", "ollama", "mtplx", "lm-studio"}


@pytest.mark.parametrize("kind", sorted(DISJOINT | INCLUSIVE | UNDOCUMENTED))
def test_usage_of_messages(kind):
    body = usage(input_tokens=120, cache_read_input_tokens=100, output_tokens=3)
    inclusive = kind in INCLUSIVE
    assert read(kind, "messages", body) == Reading(
        cached=100,
        prefilled=20 if inclusive else 120,
        sure="estimate" if kind in UNDOCUMENTED else "exact",
        source="usage.cache_read_input_tokens",
    )


def test_what_is_written_to_the_cache_was_prefilled():
    body = usage(input_tokens=5, cache_read_input_tokens=100, cache_creation_input_tokens=40)
    assert there(read("anthropic", "messages", body)).prompt == 145


@pytest.mark.parametrize("kind", sorted(NAMES))
def test_usage_of_chat_and_responses_is_inclusive(kind):
    body = usage(prompt_tokens=120, prompt_tokens_details={"cached_tokens": 100})
    reading = there(read(kind, "chat", body))
    assert (reading.cached, reading.prefilled, reading.sure) == (100, 20, "exact")
    body = usage(input_tokens=120, input_tokens_details={"cached_tokens": 0})
    reading = there(read(kind, "responses", body))
    assert (reading.cached, reading.prefilled) == (0, 120)


@pytest.mark.parametrize("kind", sorted(NAMES))
@pytest.mark.parametrize(
    "counts", [{}, {"input_tokens": 120}, {"cache_read_input_tokens": None, "input_tokens": 1}]
)
def test_an_absent_field_is_not_a_zero(kind, counts):
    assert read(kind, "messages", usage(**counts)) is None
    assert read(kind, "chat", usage(prompt_tokens=120, prompt_tokens_details=None)) is None
    assert read(kind, "messages", b"") is None
    assert read(kind, "messages", b"event: x\ndata: {broken", "text/event-stream") is None


def test_more_cached_than_there_are_is_not_counted_inclusively():
    body = usage(input_tokens=20, cache_read_input_tokens=100)
    assert there(read("mlx-serve", "messages", body)).prefilled is None


def test_timings_of_llama_cpp():
    body = json.dumps({"timings": {"cache_n": 236, "prompt_n": 1, "prompt_ms": 30.9}}).encode()
    assert read("llama.cpp", "chat", body) == Reading(
        cached=236, prefilled=1, source="timings.cache_n"
    )
    stream = b"data: {}\n\ndata: " + body + b"\n\ndata: [DONE]\n\n"
    assert there(read("llama.cpp", "chat", stream, "text/event-stream")).cached == 236


def test_counts_of_ollama():
    body = b'{"message":{"content":"Hi"},"done":false}\n{"done":true,"prompt_eval_count":900,"prompt_eval_cached_count":850}\n'  # noqa: E501
    reading = there(read("ollama", "other", body, "application/x-ndjson"))
    assert (reading.cached, reading.prefilled) == (850, 50)
    assert read("ollama", "other", b'{"done":true,"prompt_eval_count":900}\n') is None
    assert read("ollama", "other", b'{"prompt_eval_cached_count":\n') is None


def test_statistics_of_mtplx():
    stats = {"cached_tokens": 700, "new_prefill_tokens": 12, "ttft_s": 0.3}
    body = json.dumps({"usage": {"prompt_tokens": 712}, "mtplx_stats": stats}).encode()
    reading = there(read("mtplx", "chat", body))
    assert (reading.cached, reading.prefilled) == (700, 12)
    assert reading.source == "mtplx_stats.cached_tokens"


# --- counters ---

COUNTERS = [
    ("vllm", "vllm:prefix_cache_queries_total{e=\"0\"} 115\nvllm:prefix_cache_hits_total 96\n"
     "vllm:request_success_total{finished_reason=\"stop\"} 1\n", (96, 19, "exact")),
    ("vllm", "vllm:prefix_cache_queries_total 230\nvllm:prefix_cache_hits_total 96\n"
     "vllm:request_success_total 2\n", (96, 134, "estimate")),
    ("sglang", "sglang:cached_tokens_total 100\nsglang:prompt_tokens_total 120\n"
     "sglang:num_requests_total 1\n", (100, 20, "exact")),
    ("sglang", "sglang:cached_tokens_total 100\n", (100, None, "estimate")),
    ("rapid-mlx", "rapid_mlx_prefix_cache_hits_total 1\n"
     "rapid_mlx_prefix_cache_tokens_saved_total 32000\n", (32000, None, "exact")),
    ("mlx-serve", "mlx_serve:prefix_cache_tokens_total 90\nmlx_serve:prefill_tokens_total 10\n"
     "vllm:time_to_first_token_seconds_count 1\n", (90, 10, "exact")),
    ("llama.cpp", "llamacpp:prompt_tokens_total 40\n", (None, 40, "estimate")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "after", "expected"), COUNTERS)
def test_counters_around_a_request(kind, after, expected):
    probe = PROBES[kind]
    reading = there(probe.read_counters(answer(""), answer(after)))
    assert (reading.cached, reading.prefilled, reading.sure) == expected
    assert probe.read_counters(answer(after), answer("")) is None
    assert probe.read_counters(answer("", 404), answer("", 404)) is None


# --- logs ---


def test_the_log_of_claude_code_local():
    probe = PROBES["claude-code-local"]
    hit = "  Cache hit: 900 reused, 12 new tokens to prefill (saved 900 tokens)\n"
    miss = "  Cache miss: full prefill of 912 tokens\n"
    assert probe.read_log(hit) == Reading(cached=900, prefilled=12, source="log")
    assert probe.read_log(miss) == Reading(cached=0, prefilled=912, source="log")
    assert probe.read_log(hit + miss) is None
    assert probe.read_log("GET /health\n") is None


@pytest.mark.parametrize("kind", sorted(NAMES))
def test_logs_and_counters_that_tell_nothing(kind):
    assert PROBES[kind].read_log("INFO: started\n") is None
    assert PROBES[kind].read_counters(answer("x"), answer("y")) is None
