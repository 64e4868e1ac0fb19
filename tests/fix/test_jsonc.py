import pytest
from hypothesis import given

from cachediag.errors import InputError
from cachediag.fix.jsonc import decoded, is_plain, raw_member, with_member, without_member
from tests.fix.jsonc_documents import NAME, documents


def set_(raw: bytes, value: str = "0") -> bytes:
    return with_member(raw, ("env",), NAME, value)


def two_insertions(before: bytes, after: bytes) -> bool:
    """Whether `after` is `before` with a comma put in somewhere, and a text further on."""
    start = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before)
    )
    if after.endswith(before[start:]) and len(after) > len(before):
        return True
    rest, more = before[start:], after[start + 1 :]
    further = next((i for i, (a, b) in enumerate(zip(rest, more, strict=False)) if a != b), 0)
    return after[start : start + 1] == b"," and more.endswith(rest[further:])


@given(documents())
def test_only_the_one_member_is_another(raw):
    expected = decoded(raw)
    expected.setdefault("env", {})[NAME] = "0"
    assert decoded(set_(raw)) == expected


@given(documents(own=False))
def test_every_byte_stays_around_what_is_put_in(raw):
    env = raw_member(raw, "env")
    # Where there is no `env`, an empty one is put in first, the same way.
    between = raw if env is not None else with_member(raw, (), "env", {})
    assert env is not None or two_insertions(raw, between)
    assert two_insertions(between, set_(between))


@given(documents(own=True))
def test_every_byte_stays_around_a_value_that_is_replaced(raw):
    old, new = raw_member(raw, "env", NAME), b'"wanted"'
    assert old is not None
    made = set_(raw, "wanted")
    assert made in {
        raw[:start] + new + raw[start + len(old) :]
        for start in range(len(raw))
        if raw.startswith(old, start)
    }


@given(documents(own=False))
def test_taken_out_again_the_rest_says_what_it_said(raw):
    expected = decoded(raw)
    taken = without_member(set_(raw), ("env",), NAME)
    assert decoded(taken) == {"env": {}} | expected
    expected.pop("env", None)
    assert decoded(without_member(taken, (), "env")) == expected


@given(documents(own=True))
def test_what_was_there_is_taken_out(raw):
    expected = decoded(raw)
    expected["env"].pop(NAME)
    made = raw
    while NAME in decoded(made)["env"]:
        made = without_member(made, ("env",), NAME)
    assert decoded(made) == expected


@pytest.mark.parametrize(
    ("raw", "made"),
    [
        ("{}", '{\n  "env": {\n    "X": "0"\n  }\n}'),
        ("{\n}\n", '{\n  "env": {\n    "X": "0"\n  }\n}\n'),
        ('{"a": 1}', '{"a": 1, "env": {"X": "0"}}'),
        (
            '{\n\t"a": 1, // why\n}\n',
            '{\n\t"a": 1, // why\n\t"env": {\n\t\t"X": "0"\n\t},\n}\n',
        ),
        (
            '{\n    "a": 1 // why\n}',
            '{\n    "a": 1, // why\n    "env": {\n        "X": "0"\n    }\n}',
        ),
        (
            '{\r\n  "env": {\r\n    "B": "1"\r\n  },\r\n  "z": 1\r\n}\r\n',
            '{\r\n  "env": {\r\n    "B": "1",\r\n    "X": "0"\r\n  },\r\n  "z": 1\r\n}\r\n',
        ),
        ('{"env": {"X": 1}}', '{"env": {"X": "0"}}'),
        ('{"env": {"X": "1"}, "env": {"X": "2"}}', '{"env": {"X": "1"}, "env": {"X": "0"}}'),
        ("{ // all\n}", '{ // all\n  "env": {\n    "X": "0"\n  }\n}'),
    ],
)
def test_it_is_written_as_the_file_is(raw, made):
    assert with_member(raw.encode(), ("env",), "X", "0").decode() == made


@pytest.mark.parametrize(
    ("made", "left"),
    [
        ('{"env": {"A": "1", "X": "0"}}', '{"env": {"A": "1"}}'),
        ('{"env": {"X": "0", "A": "1"}}', '{"env": {"A": "1"}}'),
        ('{"env": {"X": "0"}}', '{"env": {}}'),
        (
            '{\n  "env": {\n    "A": "1", // one\n    "X": "0",\n  },\n}',
            '{\n  "env": {\n    "A": "1", // one\n  },\n}',
        ),
        (
            '{\n  "env": {\n    "A": "1", // one\n    "X": "0"\n  }\n}',
            '{\n  "env": {\n    "A": "1" // one\n  }\n}',
        ),
        ('{"env": { "A": 1, // c\n"X": "0" }}', '{"env": { "A": 1 // c\n }}'),
        ('{"env": {"A": "1"}}', '{"env": {"A": "1"}}'),
    ],
)
def test_the_comma_goes_with_it(made, left):
    assert without_member(made.encode(), ("env",), "X").decode() == left


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        (b'{"a": "// no", "b": "/* nor */", "c": [1, 2]}', True),
        (b'\xef\xbb\xbf{"a": ",]"}', True),
        (b'{"a": 1} // yes', False),
        (b'{"a": /* yes */ 1}', False),
        (b'{"a": [1,]}', False),
    ],
)
def test_plain_json_is_told_from_what_people_write(raw, plain):
    assert is_plain(raw) is plain


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "JSON ends too early (line 1, column 2)"),
        (b'{\n // c\n "a" 1}', "(line 3, column 6)"),
        (b"{,}", "not JSON"),
        (b'{"a": [,]}', "not JSON"),
        (b'{"a": 1,,}', "not JSON"),
        (b'{"a": 1 /* }', "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"env": 1}', "'env' is not an object"),
        (b'{"env": null}', "'env' is not an object"),
        (b"\xff{}", "not UTF-8"),
    ],
)
def test_what_is_none_is_refused(raw, message):
    with pytest.raises(InputError) as caught:
        set_(raw)
    assert message in caught.value.message
