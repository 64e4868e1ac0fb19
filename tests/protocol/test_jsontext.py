import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.errors import InputError
from cachediag.protocol import jsontext
from cachediag.protocol.jsontext import Span

_TEXT = st.text(st.characters(), max_size=12)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_TEXT, inner, max_size=5),
    max_leaves=20,
)
_LAYOUTS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n\t", "\r :  ")])


def _spelled(value: object, layout: tuple[str, str], *, ascii_only: bool) -> bytes:
    text = json.dumps(value, ensure_ascii=ascii_only, separators=layout)
    return text.encode("utf-8", "surrogatepass")


@given(st.lists(_VALUES, max_size=6), _LAYOUTS, st.booleans())
def test_items_are_the_array_cut_at_its_commas(values, layout, ascii_only):
    body = b" \n" + _spelled(values, layout, ascii_only=ascii_only) + b"\t"
    spans = list(jsontext.items(body, jsontext.whole(body)))
    assert [jsontext.decode(body[s.start : s.end]) for s in spans] == values


@given(st.lists(st.tuples(_TEXT, _VALUES), max_size=6), _LAYOUTS, st.booleans())
def test_members_come_in_order_and_with_their_repeats(pairs, layout, ascii_only):
    comma, colon = layout
    inside = comma.join(
        json.dumps(key, ensure_ascii=ascii_only)
        + colon
        + json.dumps(value, ensure_ascii=ascii_only)
        for key, value in pairs
    )
    body = f"{{ {inside} }}".encode("utf-8", "surrogatepass")
    found = [
        (key, jsontext.decode(body[s.start : s.end]))
        for key, s in jsontext.members(body, jsontext.whole(body))
    ]
    assert found == pairs


@pytest.mark.parametrize("number", [0, 1, 3, 7, 8, 20])
@pytest.mark.parametrize(
    "item", ['"a"', "1" * 5000, "[" * 200 + "]" * 200, '"\\ud800"', "[1, 2]", "NaN"]
)
def test_one_item_is_found_as_among_all(number, item):
    body = f"  [ {' , '.join([item] * 9)}\n]".encode()
    span = jsontext.whole(body)
    found = jsontext.item(body, span, number)
    start = 4 + number * (len(item) + 3)
    assert found == (Span(start, start + len(item)) if number < 9 else None)


@pytest.mark.parametrize("raw", [b'{"a":1}', b'"a"', b"[1", b"7"])
def test_what_is_no_array_has_no_item(raw):
    with pytest.raises(InputError):
        jsontext.item(raw, Span(0, len(raw)), 0 if raw != b"[1" else 1)


@given(_VALUES)
def test_encode_and_decode_are_inverse(value):
    assert jsontext.decode(jsontext.encode(value)) == value


@pytest.mark.parametrize("text", ['"\\ud800"', "NaN", "1e400", "12345678901234567890123"])
def test_decodes_what_pythons_json_takes(text):
    assert repr(jsontext.decode(text.encode())) == repr(json.loads(text))


def test_a_repeated_key_whose_first_value_begins_like_the_last():
    body = b'{"a":20,"a":2}'
    assert list(jsontext.members(body, jsontext.whole(body))) == [
        ("a", Span(5, 7)),
        ("a", Span(12, 13)),
    ]
    assert jsontext.find(body, "a") == 12


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"a": [1, 2', "JSON ends too early (line 1, column 12)"),
        (b'{"a": 1, b}', "not JSON: Expecting property name enclosed in double quotes "),
        (b"\xff\xfe", "not UTF-8 text (byte 0)"),
        (b"", "JSON ends too early (line 1, column 1)"),
        (b"[" * 200_000 + b"]" * 200_000, "JSON is nested too deeply"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(raw, message):
    with pytest.raises(InputError) as caught:
        jsontext.decode(raw)
    assert str(caught.value).startswith(message.rstrip())
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("marked", "path"),
    [
        (b'|{"a":1}', ""),
        (b'{"|a":1}', "a"),
        (b'{"a":|1}', "a"),
        (b'{"a":[10,|20]}', "a[1]"),
        (b'{"a":[10|,20]}', "a[1]"),
        (b'{"a":[10,20|]}', "a"),
        (b'{"a b":{"c":"x|y"}}', '["a b"].c'),
        (b'{"m":[{"content":[{"text":"h|i"}]}]}', "m[0].content[0].text"),
        (b'{"a":1}|', ""),
    ],
)
def test_path_at(marked, path):
    offset = marked.index(b"|")
    assert jsontext.path_at(marked.replace(b"|", b""), offset) == path


@given(_VALUES, st.data())
def test_every_leaf_is_found_at_its_own_bytes(value, data):
    body = jsontext.encode({"root": value})
    offset = data.draw(st.integers(0, len(body) - 1))
    path = jsontext.path_at(body, offset)
    assert path == "" or path.startswith("root")


def test_spelled_keeps_numbers_apart_that_are_equal():
    assert jsontext.spelled("[1.0, 1.00]") != jsontext.spelled("[1.0, 1.0]")
    assert jsontext.spelled("[1]") != jsontext.spelled("[1.0]")
