"""Where hosted caches look: at block ends, in the tokens of the whole prompt."""

from cachediag.analysis.engines import CacheRequest
from cachediag.analysis.hosted import with_blocks
from cachediag.protocol import parse
from cachediag.render import default_profile
from cachediag.tokens.encoder import Encoder
from cachediag.tokens.tokenizers import tokenizer
from tests.compare.bodies import Body, body, raw


def asked_of(made: Body) -> CacheRequest:
    """What a hosted cache is asked, in tokens that merge where one block's text meets the next."""
    prompt = parse(raw(made))
    rendered = default_profile("messages").render(prompt)
    encoder = Encoder(tokenizer("qwen2.5"))
    tokens = encoder.sequence(segment.text for segment in rendered.segments)
    bare = CacheRequest(index=0, lane="main", tokens=tokens)
    return with_blocks(bare, prompt, rendered, encoder)


def test_block_ends_stay_within_a_prompt_that_is_encoded_in_one():
    made = body()
    made["messages"] += [
        {"role": "assistant", "content": "x " * 40},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    asked = asked_of(made)
    ends = [block.end for block in asked.blocks]
    assert len(ends) == parse(raw(made)).block_count
    assert ends == sorted(ends)
    assert 0 < ends[0] < ends[-1] == len(asked.tokens)


def test_markers_are_breakpoints():
    made = body()
    made["system"][1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}
    asked = asked_of(made)
    marked = [n for n, block in enumerate(parse(raw(made)).blocks) if block.marker]
    assert [point.block for point in asked.breakpoints] == marked
    assert "1h" in {point.lifetime for point in asked.breakpoints}
