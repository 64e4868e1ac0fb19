import pytest

from cachediag.errors import UsageError
from cachediag.simulate.caches import cache_for
from cachediag.simulate.caches.blocks import AllBlocks
from cachediag.simulate.caches.engines import EngineCache
from cachediag.simulate.model import Scale, Server
from tests.simulate.prompts import chained, request


def server(**given) -> Server:
    return Server(prefill_rate=1, decode_rate=1, batch_rate=1, **given)


def test_a_capacity_is_in_tokens_and_kept_in_whole_blocks() -> None:
    cache = cache_for(server(capacity=11), Scale(block=4))
    cache.begin(request("123"), 0)
    assert cache.held(chained("123")) == 2


def test_no_capacity_is_no_limit_and_an_engine_goes_first() -> None:
    assert isinstance(cache_for(server(), Scale(4)), AllBlocks)
    assert isinstance(cache_for(server(engine="sglang", capacity=8), Scale(4)), EngineCache)
    with pytest.raises(UsageError, match="no cache model is called 'vlm'"):
        cache_for(server(engine="vlm"), Scale(4))


def test_each_cache_is_a_new_one() -> None:
    one, other = (cache_for(server(), Scale(4)) for _ in range(2))
    one.begin(request("1"), 0)
    assert (one.held(chained("1")), other.held(chained("1"))) == (1, 0)
