"""A parser that remembers gives what one that does not gives."""

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.protocol import Parser, jsontext, parse

_ITEMS = st.sampled_from(
    [
        {"role": "user", "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": "\ud800é"},
        {"role": "system", "content": "b"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
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


_FIELDS = st.lists(
    st.sampled_from(
        [
            ("model", "m"),
            ("model", ["m"]),
            ("messages", [7]),
            ("messages", None),
            ("system", [{"type": "text", "text": "s"}]),
            ("tools", [{"name": "Read"}, {"name": "Write"}]),
            ("", float("nan")),
            ("stream", True),
        ]
    ),
    max_size=3,
)
_ENDS = st.sampled_from(["}", "}", "}", "} \n", "", "}}", ',"a"}', "]}"])


def _written(fields, layout):
    comma, colon = layout
    members = (json.dumps(name) + colon + json.dumps(value) for name, value in fields)
    return comma.join(members)


def _told(parse_, body, endpoint):
    """All of a prompt, or why there is none."""
    try:
        prompt = parse_(body, endpoint)
    except InputError as error:
        return str(error)
    runs = [
        (run.path, run.base, run.starts, [part.raw for part in run.parts]) for run in prompt.runs
    ]
    return prompt.blocks, list(prompt.params.items()), runs


_BODIES = st.tuples(
    st.integers(0, 4),
    st.lists(_ITEMS, max_size=2),
    _FIELDS,
    _ENDS,
    st.sampled_from(["messages", "chat"]),
)


@given(_LAYOUT, _FIELDS, st.lists(_ITEMS, max_size=4), st.lists(_BODIES, max_size=6))
@settings(max_examples=1000, deadline=None)
def test_a_body_that_goes_on_from_an_earlier_one_is_read_as_alone(layout, before, items, bodies):
    parser = Parser()
    for count, more, behind, end, endpoint in bodies:
        fields = [*before, ("messages", [*items[:count], *more]), *behind]
        body = f"{{{_written(fields, layout)}{end}".encode("utf-8", "surrogatepass")
        assert _told(parser.parse, body, endpoint) == _told(parse, body, endpoint)


def test_of_a_body_that_goes_on_only_the_rest_is_looked_through(monkeypatch):
    parser = Parser()
    talk = b'{"model":"m","messages":[%s],"stream":true}'
    parser.parse(talk % b'{"content":"a"}', "messages")
    monkeypatch.setattr(sys.modules[Parser.__module__], "top_level", None)
    longer = parser.parse(talk % b'{"content":"a"},{"content":"b"}', "messages")
    assert [block.path for block in longer.blocks] == ["messages[0].content", "messages[1].content"]
    assert longer.params == {"model": b'"m"', "stream": b"true"}


_LONG = [{"role": "user", "content": f"{n} {'word ' * 20}"} for n in range(12)]
_CHANGED = st.lists(_ITEMS | st.sampled_from(_LONG), max_size=3)


@given(
    _LAYOUT,
    st.lists(st.tuples(st.integers(0, 2), _CHANGED, _CHANGED, st.integers(0, 12)), max_size=5),
)
@settings(max_examples=150, deadline=None)
def test_a_body_that_goes_on_behind_what_changed_is_read_as_alone(layout, bodies):
    parser = Parser()
    for same, first, between, count in bodies:
        items = [*_LONG[:same], *first, *_LONG[3:count], *between, *_LONG[count:]]
        text = json.dumps({"messages": items, "stream": True}, separators=layout)
        body = text.encode("utf-8", "surrogatepass")
        assert _told(parser.parse, body, "chat") == _told(parse, body, "chat")


def test_text_that_looks_like_a_message_is_none():
    again = json.dumps(_LONG[1], separators=(",", ":"))
    parser, talk = Parser(), [{"role": "system", "content": "a"}, *_LONG[1:]]
    parser.parse(json.dumps({"messages": talk}, separators=(",", ":")).encode(), "chat")
    for quoted in ({"content": [0, _LONG[1], *_LONG[2:]]}, {"content": f"0,{again},"}):
        body = json.dumps({"messages": [quoted, *_LONG[1:]]}, separators=(",", ":")).encode()
        assert _told(parser.parse, body, "chat") == _told(parse, body, "chat")


@pytest.mark.parametrize("head", [["a", "b"], ["a", "longer"], ["same", "same"]])
def test_behind_a_first_message_that_changed_only_what_is_new_is_read(monkeypatch, head):
    """Of 400 messages the first one is another: no more than it and the last is decoded."""
    parser, read = Parser(), []
    talk = [{"role": "user", "content": str(n)} for n in range(400)]
    items_after = jsontext.items_after

    def noting(body, position, span):
        spans = list(items_after(body, position, span))
        read.append(len(spans))
        return iter(spans)

    monkeypatch.setattr(jsontext, "items_after", noting)
    for text, count in zip(head, (398, 399), strict=True):
        items = [{"role": "system", "content": text}, *talk[:count]]
        body = json.dumps({"messages": items}, separators=(",", ":")).encode()
        read.clear()
        prompt = parser.parse(body, "chat")
    assert [part.raw for run in prompt.runs for part in run.parts] == [
        json.dumps(item, separators=(",", ":")).encode() for item in items
    ]
    assert sum(read) == (2 if head[0] != head[1] else 1)


def test_prompts_share_the_parts_that_are_the_same_to_the_byte():
    parser = Parser()
    messages = [{"role": "user", "content": str(n)} for n in range(50)]
    a = parser.parse(json.dumps({"messages": messages[:40]}).encode(), "messages")
    b = parser.parse(json.dumps({"messages": messages, "system": "s"}).encode(), "messages")
    assert all(x is y for x, y in zip(a.parts("messages"), b.parts("messages"), strict=False))
