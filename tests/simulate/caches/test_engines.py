import pytest

from cachediag.analysis.engines import CacheRequest, engine
from cachediag.errors import UsageError
from cachediag.simulate.caches.engines import EngineCache
from tests.analysis.engines.prompts import prompt, text
from tests.simulate.prompts import chained, request


def asked(*parts, **given) -> CacheRequest:
    return CacheRequest(index=7, lane="main", tokens=prompt(*parts), **given)


def test_the_engine_says_what_is_reused() -> None:
    cache = EngineCache(engine("vllm:block=4"))
    first = request(input_tokens=10, asked=asked(text(10)))
    assert cache.begin(first, 0.0) == 0
    assert cache.begin(request(input_tokens=12, asked=asked(text(10), text(2, 1))), 1.0) == 8
    assert cache.held(chained("12")) == 0


def test_times_are_those_of_the_run_and_not_the_recorded_ones() -> None:
    """The 5-minute cache of the hosted API; recorded at once, played 299 s and 301 s apart."""
    from cachediag.analysis.engines import Breakpoint, PromptBlock

    block = PromptBlock(end=5000, section="messages", kind="text", role="user")
    told = asked(text(5000), started=0.0, ended=1e9, blocks=(block,), breakpoints=(Breakpoint(0),))
    cache = EngineCache(engine("anthropic"))
    one = request(input_tokens=5000, asked=told)
    assert [cache.begin(one, now) for now in (0.0, 299.0, 600.0)] == [0, 4999, 0]


def test_the_reply_is_kept_and_the_last_token_never_reused() -> None:
    cache = EngineCache(engine("sglang"))
    reply = prompt(text(8), text(8, 1))
    one = request(input_tokens=8, asked=asked(text(8), reply=reply))
    cache.begin(one, 0.0)
    cache.end(one, 1.0)
    again = request(input_tokens=20, asked=asked(text(8), text(8, 1), text(4, 2)))
    assert cache.begin(again, 2.0) == 15
    assert cache.begin(request(input_tokens=3, asked=asked(text(8))), 3.0) == 2


def test_without_tokens_an_engine_cannot_be_asked() -> None:
    with pytest.raises(UsageError, match="vllm cannot be asked for requests that have no text"):
        EngineCache(engine("vllm")).begin(request("12"), 0.0)
