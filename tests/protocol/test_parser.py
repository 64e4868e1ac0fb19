"""A parser that remembers gives what one that does not gives."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.protocol import Parser, parse

_ITEMS = st.sampled_from(
    [
        {"role": "user", "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": "\ud800é"},
        {"role": "system", "content": "b"},
        7,
        77,
        "x",
        None,
    ]
)
_LAYOUT = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " : ")])
_ENDPOINT = st.sampled_from(["messages", "chat", "responses"])


@given(st.lists(st.tuples(st.lists(_ITEMS, max_size=6), _LAYOUT, _ENDPOINT), max_size=8))
@settings(max_examples=300, deadline=None)
def test_it_gives_the_same_prompts(bodies):
    parser = Parser()
    for items, layout, endpoint in bodies:
        name = "input" if endpoint == "responses" else "messages"
        text = json.dumps({"model": "m", name: items}, separators=layout)
        body = text.encode("utf-8", "surrogatepass")
        alone, remembering = parse(body, endpoint), parser.parse(body, endpoint)
        assert remembering.blocks == alone.blocks
        assert remembering.params == alone.params
        for block in remembering.blocks:
            json.loads(body[block.start : block.end])


def test_prompts_share_the_parts_that_are_the_same_to_the_byte():
    parser = Parser()
    messages = [{"role": "user", "content": str(n)} for n in range(50)]
    a = parser.parse(json.dumps({"messages": messages[:40]}).encode(), "messages")
    b = parser.parse(json.dumps({"messages": messages, "system": "s"}).encode(), "messages")
    assert all(x is y for x, y in zip(a.parts("messages"), b.parts("messages"), strict=False))
