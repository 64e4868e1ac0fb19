import json

from hypothesis import given
from hypothesis import strategies as st

from cachediag.compare.places import byte_of, leaf_path
from cachediag.protocol import parse


@given(st.text(max_size=20), st.booleans(), st.data())
def test_the_byte_of_a_character_is_where_its_json_begins(text, ascii_only, data):
    body = json.dumps(
        {"messages": [{"role": "user", "content": [{"text": text, "type": "text"}]}]},
        ensure_ascii=ascii_only,
    ).encode("utf-8", "surrogatepass")
    block = parse(body, "messages").blocks[0]
    at = data.draw(st.integers(0, len(text)))
    offset = byte_of(body, block, ("text",), at)
    head = json.dumps(text[:at], ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    start = body.index(b'"text": ') + len(b'"text": ')
    assert body[start:offset] == head[:-1]


def test_paths_follow_what_the_client_sent():
    body = json.dumps(
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "user", "content": [{"type": "tool_result", "content": "out"}]},
                {
                    "role": "user",
                    "content": [{"type": "tool_use", "input": {"a b": [1, {"c": 2}]}}],
                },
            ]
        }
    ).encode()
    string, result, call = parse(body, "messages").blocks
    assert leaf_path(body, string, ("text",)) == "messages[0].content"
    assert leaf_path(body, result, ("content", 0, "text")) == "messages[1].content[0].content"
    path = 'messages[2].content[0].input["a b"][1].c'
    assert leaf_path(body, call, ("input", "a b", 1, "c")) == path
    assert body[byte_of(body, call, ("input", "a b", 1, "c")) :].startswith(b"2")
