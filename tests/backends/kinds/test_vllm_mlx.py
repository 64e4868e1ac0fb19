import pytest

from cachediag.backends.kinds import PROBES, Reading, Recognised
from cachediag.backends.kinds.vllm_mlx import api_digest
from tests.backends.answers import answer, owned_by, there, usage

PROBE = PROBES["vllm-mlx"]
API = {
    "info": {"title": "vllm-mlx API", "version": "0.4.1"},
    "paths": {"/health": {"get": {"summary": "a"}}},
    "components": {
        "schemas": {
            "Message": {"properties": {"role": {}, "content": {}}},
            "ValidationError": {"properties": {"loc": {}}},
        }
    },
}


def test_the_digest_is_of_paths_and_fields_and_of_nothing_else():
    digest = api_digest(API)
    other = API | {
        "info": {},
        "paths": {"/health": {"get": {"summary": "b"}}},
        "components": {"schemas": {"Message": {"properties": {"content": 1, "role": 2}}}},
    }
    assert api_digest(other) == digest
    assert api_digest(API | {"paths": {"/health": {"post": {}}}}) != digest
    assert api_digest({}) != digest


def test_a_release_that_is_not_known_is_an_estimate():
    responses = {
        "/v1/models": owned_by("vllm-mlx"),
        "/health": answer({"engine_type": "batched"}),
        "/openapi.json": answer(API),
    }
    found = there(PROBE.recognise(responses))
    assert str(found) == "probably vllm-mlx 0.4.1, BatchedEngine"
    assert (found.sure, found.version_sure, found.profile, found.engine) == (
        *("exact", "estimate", "vllm-mlx@0.4.1", "sglang"),
    )


def test_without_its_api_the_release_is_not_known():
    found = there(
        PROBE.recognise({"/v1/models": owned_by("vllm-mlx"), "/openapi.json": answer("", 404)})
    )
    assert (str(found), found.profile) == ("vllm-mlx", "vllm-mlx")
    odd = {"/openapi.json": answer({"info": {"title": "vllm-mlx API"}, "paths": [1]})}
    assert (there(PROBE.recognise(odd)).version, there(PROBE.recognise(odd)).profile) == (
        None,
        "vllm-mlx",
    )


def known(version, variant="SimpleEngine", sure="exact"):
    return Recognised(
        kind="vllm-mlx",
        version=version,
        variant=variant,
        sure="exact",
        version_sure=sure,
        evidence="",
    )


def test_releases_without_a_cache_for_text_took_nothing_from_one():
    body = usage(input_tokens=115, output_tokens=6)
    read = PROBE.read_usage
    assert read(known("0.3.0"), "messages", None, body) == Reading(
        cached=0, source="vllm-mlx 0.3.0, which keeps no cache for text"
    )
    likely = there(read(known("0.3.1", sure="estimate"), "messages", None, body))
    assert likely.sure == "estimate"
    for other in (known("0.4.0"), known("0.3.0", "BatchedEngine"), known(None)):
        assert read(other, "messages", None, body) is None
    patched = usage(input_tokens=6, cache_read_input_tokens=109)
    assert there(read(known("0.3.0"), "messages", None, patched)).prompt == 115


def stats(**counters):
    return answer({"engine_cache": {"system_kv_cache": {"counters": counters}}, "error": "x"})


@pytest.mark.parametrize(
    ("before", "after", "cached"),
    [
        (stats(hits=1, misses=1), stats(hits=1, misses=2), 0),
        (stats(hits=1, misses=1), stats(hits=1, misses=1), 0),
        (stats(hits=1, misses=1), stats(hits=2, misses=1), None),
    ],
)
def test_counters_tell_of_misses_exactly_and_of_hits_only_that(before, after, cached):
    reading = there(PROBE.read_counters(before, after))
    assert (reading.cached, reading.sure) == (cached, "exact")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (stats(hits=1, misses=1), stats(hits=2, misses=2)),
        (stats(hits=1, misses=1), stats(hits=0, misses=0)),
        (stats(hits=1), stats(hits=1)),
        (answer({"engine_cache": None}), answer({"engine_cache": None})),
    ],
)
def test_counters_that_tell_nothing(before, after):
    assert PROBE.read_counters(before, after) is None


HIT = "INFO:x:System KV cache HIT (stream_chat): reusing 109 tokens, prefilling 6 new (hash=a)\n"
MISS = "INFO:x:System KV cache MISS (stream_chat): will prefill 109 system + 6 suffix tokens\n"


def test_the_log():
    assert PROBE.read_log(HIT) == Reading(cached=109, prefilled=6, source="log")
    assert PROBE.read_log(f"x\n{MISS}y\n") == Reading(cached=0, prefilled=115, source="log")
    assert PROBE.read_log(HIT + MISS) is None
    assert PROBE.read_log("System KV cache STORED (stream_chat): 109 tokens (0.1 MB)") is None


def test_an_old_release_that_does_not_name_its_engine():
    old = {"/v1/models": owned_by("vllm-mlx"), "/health": answer({"status": "healthy"})}
    assert there(PROBE.recognise(old)).variant is None
    old["/v1/status"] = answer({"status": "stopped"})
    assert there(PROBE.recognise(old)).variant == "SimpleEngine"
