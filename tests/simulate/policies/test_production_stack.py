from cachediag.simulate.model import Scale
from cachediag.simulate.policies import policy
from tests.simulate.fleet import fleet
from tests.simulate.prompts import request


def test_any_of_those_with_the_longest_match() -> None:
    """Blocks of 16 characters, chunks of 32: two blocks each, the last may be one.

    The numbers of seed 0: 0.844, 0.758, 0.421, 0.259, 0.511, 0.405, 0.784, 0.303.

    | request | chunks | longest match | held by | drawn | chosen |
    |---|---|---|---|---|---|
    | 1 | 12 34 56 | nothing | 0 1 2 | 0.844 → third | 2 |
    | 2 | 12 34 78 | 12 34 | 2 | | 2 |
    | 3 | 12 78 | 12 | 2 | | 2 |
    | 4 | 13 | nothing: a chunk matches as a whole | 0 1 2 | 0.259 → first | 0 |
    | 5 | 1 | nothing | 0 1 2 | 0.511 → second | 1 |
    | 6 | 1 | 1 | 1 | | 1 |
    | 7 | 13 99 | 13 | 0 | | 0 |
    | 8 | 12 34 56 | 2 has left: nothing | 0 1 | 0.303 → first | 0 |
    """
    chooser = policy("production-stack:chunk_size=32")
    chooser.prepare(Scale(block=4, characters=4.0), 0)
    prompts = ["123456", "123478", "1278", "13", "1", "1", "1399"]
    chosen = [chooser.choose(request(each), fleet(), 0.0).id for each in prompts]
    assert chosen == [2, 2, 2, 0, 1, 1, 0]
    chooser.left(2)
    assert chooser.choose(request("123456"), fleet("01"), 0.0).id == 0


def test_of_several_holders_any() -> None:
    """Chunks of a block. The numbers of seed 0: 0.844, 0.758, 0.421, 0.259, 0.511.

    Prompt 1 is held by 0, which was alone, and by 1, which came while 0 was away.

    | request | prompt | there | held by | drawn | chosen |
    |---|---|---|---|---|---|
    | 1 | 1 | 0 | 0 | 0.844 | 0 |
    | 2 | 1 | 1 2 | of these none, so both | 0.758 → second | 2 |
    | 3 | 1 | 0 1 2 | 0 2 | 0.421 → first | 0 |
    """
    chooser = policy("production-stack:chunk_size=16")
    chooser.prepare(Scale(block=4, characters=4.0), 0)
    assert chooser.choose(request("1"), fleet("0"), 0.0).id == 0
    assert chooser.choose(request("1"), fleet("12"), 0.0).id == 2
    assert chooser.choose(request("1"), fleet("012"), 0.0).id == 0


def test_a_chunk_is_the_nearest_number_of_blocks() -> None:
    """By default a chunk has 128 characters: 1.6 blocks of 20 tokens, so two of them."""
    chooser = policy("production-stack")
    chooser.prepare(Scale(block=20), 0)
    first = chooser.choose(request("12"), fleet(), 0.0).id
    assert {chooser.choose(request("12" + tail), fleet(), 0.0).id for tail in "3456789"} == {first}
    assert len({chooser.choose(request("1" + tail), fleet(), 0.0).id for tail in "3456789"}) > 1


def test_a_chunk_is_at_least_a_block() -> None:
    """By default a chunk has 128 characters: 4 tokens of a block of 512."""
    chooser = policy("production-stack")
    chooser.prepare(Scale(block=512), 0)
    first = chooser.choose(request("12"), fleet(), 0.0).id
    assert {chooser.choose(request("1" + tail), fleet(), 0.0).id for tail in "3456789"} == {first}
