"""The body with every break undone begins with the earlier prompt, for every case and mutation."""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cachediag.compare.undo import undone_body
from cachediag.protocol import parse
from tests.compare.bodies import HEADER, body, held, raw
from tests.compare.test_compare import MUTATIONS


def _undone(found, causes=None):
    chosen = {(f.code, f.path) for f in found.breaks} if causes is None else causes
    return parse(undone_body(found, chosen), found.b.endpoint)


def _same(a, b):
    return [(x.role, x.canonical) for x in a] == [(y.role, y.canonical) for y in b]


@given(st.data())
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_undoing_every_break_gives_the_earlier_prompt(data):
    a = body()
    b = copy.deepcopy(a)
    for mutate in data.draw(st.lists(st.sampled_from(MUTATIONS), max_size=4)):
        mutate(b, data)
    found = held(a, b)
    made = _undone(found).blocks
    unasked = sum(e.b is None and e.cause is None for e in found.entries)
    earlier = found.a.blocks[: found.a.block_count - unasked]
    assert _same(made[: len(earlier)], earlier)


@given(st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_undoing_nothing_gives_the_later_prompt(data):
    a = body()
    b = copy.deepcopy(a)
    for mutate in data.draw(st.lists(st.sampled_from(MUTATIONS), max_size=3)):
        mutate(b, data)
    found = held(a, b)
    made = parse(undone_body(found, ()), "messages")
    assert _same(made.blocks, found.b.blocks)
    assert made.params == found.b.params


def test_what_no_cause_touches_stays_byte_for_byte():
    b = body()
    b["system"][0]["text"] = HEADER.format("1c8b4")
    b["messages"].append({"role": "user", "content": "Go on."})
    found = held(body(), b)
    made = json.loads(undone_body(found, {("V01", "system[0].text")}))
    assert made["system"] == [
        {"type": "text", "text": HEADER.format("6c09a")},
        b["system"][1],
    ]
    assert made["messages"] == b["messages"]
    assert made["tools"] == b["tools"]
    assert made["max_tokens"] == b["max_tokens"]


def test_a_hoisted_message_that_is_undone_is_gone():
    b = body()
    b["messages"].append({"role": "system", "content": "4 left."})
    found = held(body(), b, "vllm-mlx@0.6.0")
    assert (
        json.loads(undone_body(found, {("S07", "messages[3].content")}))["messages"]
        == (body()["messages"])
    )


@pytest.mark.parametrize("name", ["model", "tool_choice"])
def test_a_parameter_is_put_back(name):
    found = held(body(), body(**{name: "other"}))
    made = json.loads(undone_body(found, {("S10", name)}))
    assert made.get(name) == json.loads(raw(body())).get(name)
