import json

from cachediag.backends import Reading, Recognised, begin, readings
from tests.backends.answers import answer, serving, usage

SIX = Recognised(kind="vllm-mlx", version="0.6.0", sure="exact", evidence="")
HIT = "INFO:x:System KV cache HIT (stream_chat): reusing 109 tokens, prefilling 6 new (hash=6a)\n"


def stats(hits, misses):
    counters = {"hits": hits, "misses": misses}
    return answer({"engine_cache": {"system_kv_cache": {"counters": counters}}})


def test_log_and_counters_around_a_request(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("INFO:x:System KV cache HIT (stream_chat): reusing 1 tokens, prefilling 2 new\n")
    state = {"/v1/cache/stats": stats(1, 1)}
    with serving(state) as (url, _):
        watch = begin(url, SIX, log)
        with log.open("a") as more:
            more.write(HIT)
        state["/v1/cache/stats"] = stats(2, 1)
        told = readings(watch, "messages", "application/json", usage(input_tokens=115))
    assert told == [
        Reading(cached=109, prefilled=6, source="log"),
        Reading(source="counters of /v1/cache/stats"),
    ]
    assert told[0].prompt == 115


def test_the_response_comes_first():
    with serving({"/v1/cache/stats": stats(0, 0)}) as (url, _):
        watch = begin(url, SIX)
        body = usage(input_tokens=6, cache_read_input_tokens=109)
        told = readings(watch, "messages", "application/json", body)
    assert [(each.cached, each.source) for each in told] == [
        (109, "usage.cache_read_input_tokens"),
        (0, "counters of /v1/cache/stats"),
    ]


def test_a_backend_that_tells_nothing(tmp_path):
    studio = Recognised(kind="lm-studio", sure="exact", evidence="")
    watch = begin("http://127.0.0.1:9", studio, tmp_path / "none.log")
    body = json.dumps({"usage": {"prompt_tokens": 5}}).encode()
    assert readings(watch, "chat", "application/json", body) == []
    other = Recognised(kind="openai", sure="exact", evidence="")
    assert readings(begin("http://127.0.0.1:9", other), "chat", None, body) == []
