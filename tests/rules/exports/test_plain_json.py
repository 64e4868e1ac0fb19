"""The plain substitute finds what the engine's own JSON finds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.protocol import jsontext
from cachediag.rules.exports import plain_json

_TEXT = st.text(st.characters(), max_size=12)
_NUMBERS = st.sampled_from(
    ["0", "-0", "1.0", "1.00", "1E2", "1e400", "-0.0", "12345678901234567890123", "NaN", "0.1e-7"]
)
_LAYOUTS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n\t", "\r :  ")])


@st.composite
def _json(draw: st.DrawFn, depth: int = 3) -> str:
    """JSON text as a client might spell it: its keys may come twice, its numbers be odd."""
    kind = draw(st.sampled_from(["word", "number", "text", "array", "object"][: 5 if depth else 3]))
    if kind == "word":
        return draw(st.sampled_from(["null", "true", "false"]))
    if kind == "number":
        return draw(_NUMBERS)
    if kind == "text":
        return json.dumps(draw(_TEXT), ensure_ascii=draw(st.booleans()))
    comma, colon = draw(_LAYOUTS)
    inner = draw(st.lists(_json(depth - 1), max_size=4))
    if kind == "array":
        return f"[ {comma.join(inner)}]"
    keys = [json.dumps(draw(st.sampled_from(["a", "b", "ü", "\ud800", ""]))) for _ in inner]
    pairs = zip(keys, inner, strict=True)
    return f"{{{comma.join(key + colon + value for key, value in pairs)}\n}}"


def _walk(module, body, span):
    """Every span below a value, with the key or the index that leads to it."""
    opening = body[span.start : span.start + 1]
    if opening == b"[":
        children = list(enumerate(module.items(body, span)))
        found = [module.item(body, span, number) for number in range(len(children) + 1)]
        assert found == [*(child for _, child in children), None]
    elif opening == b"{":
        children = list(module.members(body, span))
    else:
        return [repr(module.decode(body[span.start : span.end]))]
    return [(name, tuple(child), _walk(module, body, child)) for name, child in children]


@given(_json(), st.sampled_from(["", " \n", "\t\r "]))
def test_the_same_values_stand_at_the_same_places(text, white):
    body = f"{white}{text}{white}".encode("utf-8", "surrogatepass")
    spans = jsontext.whole(body), plain_json.whole(body)
    assert tuple(spans[0]) == tuple(spans[1])
    assert _walk(plain_json, body, spans[1]) == _walk(jsontext, body, spans[0])
    assert repr(plain_json.decode(body)) == repr(jsontext.decode(body))
    jsontext.check(body)
    plain_json.check(body)


@given(
    st.lists(st.integers(0, 5) | st.sampled_from(["a", "a b", "ü", "", "_x-1", '"']), max_size=4)
)
def test_the_same_path(names):
    ours = theirs = ""
    for name in names:
        ours, theirs = plain_json.step(ours, name), jsontext.step(theirs, name)
    assert ours == theirs


@given(_TEXT | st.lists(_TEXT) | st.dictionaries(_TEXT, _TEXT))
def test_the_same_encoding(value):
    assert plain_json.encode(value) == jsontext.encode(value)


@pytest.mark.parametrize(
    "text", ["", "[1,]", "[1 2]", "[,]", "[1", "[1,2}", "{'a':1}", '"a"', "[1,\n", "[nul]"]
)
def test_what_is_no_array_is_refused_alike(text):
    body = text.encode()
    for module, error in ((jsontext, InputError), (plain_json, ValueError)):
        with pytest.raises(error):
            list(module.items(body, module.Span(0, len(body))))


@pytest.mark.parametrize(
    "text", ["", '{"a":1,}', '{"a" 1}', '{"a":}', "{1:2}", '{"a":1 "b":2}', '{"a":1', "[]", "{,}"]
)
def test_what_is_no_object_is_refused_alike(text):
    body = text.encode()
    for module, error in ((jsontext, InputError), (plain_json, ValueError)):
        with pytest.raises(error):
            list(module.members(body, module.Span(0, len(body))))


@pytest.mark.parametrize("raw", [b"", b"\xff", b"{}x", b'"a\nb"', b"[01]", b"\xef\xbb\xbf{}"])
def test_what_is_no_json_is_refused_alike(raw):
    for read in (jsontext.decode, jsontext.check):
        with pytest.raises(InputError):
            read(raw)
    for plain in (plain_json.decode, plain_json.check):
        with pytest.raises(ValueError, match=r"\S"):
            plain(raw)
