import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.capture.masking import Secrets, mask

SECRET = "9f8e7d6c5b4a3210ffee"


def test_mask_keeps_the_length_and_counts():
    body = f'{{"env":"KEY={SECRET}","again":"{SECRET}"}}'.encode()
    masked, places = mask(body, [Secrets([SECRET])])
    assert places == 2
    assert masked == body.replace(SECRET.encode(), b"*" * len(SECRET))


def test_mask_finds_the_form_that_json_gives_it():
    secret = 'quo"te\\and-more-é'
    body = json.dumps({"a": secret}).encode()
    assert mask(body, [Secrets([secret])]) == (
        b'{"a": "' + b"*" * len(json.dumps(secret)[1:-1]) + b'"}',
        1,
    )


def test_credentials_within_each_other_are_one_place_whoever_knows_them():
    body = f"Bearer {SECRET}-and-more {SECRET}".encode()
    longer = f"Bearer {SECRET}-and"
    assert mask(body, [Secrets([SECRET]), Secrets([longer])]) == (
        b"*" * len(longer) + b"-more " + b"*" * len(SECRET),
        2,
    )


@given(
    st.binary(max_size=200),
    st.binary(max_size=200),
    st.lists(st.text(min_size=12, max_size=30), max_size=3),
)
def test_mask_leaves_no_secret_and_every_other_byte(before, after, values):
    body = before + b"".join(value.encode(errors="replace") for value in values) + after
    masked, places = mask(body, [Secrets(values)])
    assert len(masked) == len(body)
    assert places >= (1 if values else 0)
    assert all(m in (b, ord("*")) for m, b in zip(masked, body, strict=True))
    for value in values:
        assert value.encode(errors="replace") not in masked or set(value) == {"*"}
    if not places:
        assert masked is body


OTHERS = [f"another-{number:04}" for number in range(64)]


@given(
    st.lists(st.text(alphabet="ab", min_size=12, max_size=16), min_size=1, max_size=8),
    st.text(alphabet="ab", max_size=300),
)
def test_of_many_all_that_is_theirs_is_masked_and_nothing_else(values, text):
    body = " ".join([text, *values])
    found = ((m.start(), len(v)) for v in values for m in re.finditer(f"(?={v})", body))
    theirs = {start + at for start, length in found for at in range(length)}
    whole = "".join("*" if at in theirs else letter for at, letter in enumerate(body))
    assert mask(body.encode(), [Secrets([*OTHERS, *values])])[0] == whole.encode()


class Counting(bytes):
    searches = 0

    def find(self, *args):
        self.searches += 1
        return super().find(*args)


@pytest.mark.parametrize("count", [1_000, 10_000])
def test_a_body_is_not_searched_once_for_each_of_many_credentials(count):
    values = [f"sk-ant-oat01-{number:06}" for number in range(count)]
    body = Counting(json.dumps(values).encode())
    masked, places = mask(body, [Secrets(values)])
    assert places == count
    assert masked == re.sub(rb"sk-ant-oat01-\d{6}", b"*" * 19, body)
    assert body.searches < 200
