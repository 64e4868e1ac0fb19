import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.protocol.request import read_model


@pytest.mark.parametrize(
    ("body", "model"),
    [
        (b'{"model":"claude-x","messages":[]}', "claude-x"),
        (b' {"messages":[{"model":"inner"}], "model": "outer"} ', "outer"),
        (b'{"model":"na\\u00efve"}', "naïve"),
        (b'{"messages":[]}', None),
        (b'{"model":null}', None),
        (b'{"model":["a"]}', None),
        (b'{"model":"cut off', None),
        (b"[]", None),
        (b"", None),
        (b"\xff\xfe", None),
        (b'{"x":' + b"[" * 100_000, None),
    ],
)
def test_read_model(body, model):
    assert read_model(body) == model


@given(st.dictionaries(st.text(), st.text() | st.integers()), st.text())
def test_the_model_is_found_among_any_fields(fields, model):
    assert read_model(json.dumps(fields | {"model": model}).encode()) == model


@given(st.binary(max_size=100))
def test_no_bytes_raise(body):
    assert read_model(body) is None or isinstance(read_model(body), str)
