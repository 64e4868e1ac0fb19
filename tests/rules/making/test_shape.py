import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cachediag.rules.making.shape import shape, white_shape
from cachediag.rules.pattern import compiled

NAMES = {
    "days": "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)",
    "months": "(?:January|February|March|April|May|June|July|August|September|October|November"
    "|December)",
    "short": "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)",
}


@pytest.mark.parametrize(
    ("code", "values", "made"),
    [
        ("V02", ["2026-11-29", "2026-11-30"], r"\d{4}-\d{2}-\d{2}"),
        ("V02", ["2026-11-29"], r"\d{4}-\d{2}-\d{2}"),
        ("V02", ["15:09:20", "15:11:02"], r"\d{1,2}:\d{2}:\d{2}"),
        ("V02", ["20261129T150920Z", "20261130T091500Z"], r"\d{8}T\d{6}Z"),
        ("V02", ["3 PM", "4 PM"], r"\d{1,2} (?:AM|PM)"),
        ("V02", ["29 November", "30 November"], rf"\d{{1,2}} {NAMES['months']}"),
        ("V02", ["Nov 29th", "Dec 1st"], rf"{NAMES['short']} \d{{1,2}}(?:st|nd|rd|th)"),
        ("V02", ["Sunday", "Monday"], NAMES["days"]),
        ("V03", ["6c09a", "1c8b4"], "[0-9a-f]{5}"),
        ("V03", ["01JDX3", "01JDX4"], "[0-9A-Z]{6}"),
        ("V03", ["req_011CUa", "req_011CUf"], "req_[0-9A-Za-z]{6}"),
        ("V03", ["k3j2h1", "k3j2h1g0"], "[0-9a-z]{4,10}"),
        ("V04", ["17", "18"], r"\d{1,15}"),
        ("V04", ["151,200", "999"], r"[\d,]{0,19}\d"),
        ("V05", ["main", "equal-fit"], r"\S{1,200}"),
        ("V05", ["Linux 6.8", "Darwin 25"], r".{1,200}"),
        ("V05", ["", " M a.py\n"], r"[\s\S]{0,2000}?"),
        ("O03", ["a, b", "b, a"], r".{1,200}"),
        ("V06", ["same"], "same"),
        ("V06", ["", " Mind: (it)"], r"(?: Mind: \(it\))?"),
        ("V06", ["3 open", "12 open"], r"\d{1,4} open"),
        ("V06", ["one", "two words"], ".{1,200}"),
        ("V06", [""], ""),
    ],
)
def test_the_build_of_values(code, values, made):
    assert shape(values, code) == made


def test_the_values_of_a_year_that_was_not_seen_are_found():
    made = re.compile(shape(["Sunday, 29 November 2026", "Monday, 30 November 2026"], "V02"))
    assert made.fullmatch("Tuesday, 1 December 2026")
    assert made.fullmatch("Friday, 1 January 2027")
    assert not made.fullmatch("Friday, 1 Brumaire 2027")


CODES = st.sampled_from(["V02", "V03", "V04", "V05", "V06", "O03"])
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30)
VALUES = st.one_of(
    st.lists(LINES, min_size=1, max_size=5),
    st.lists(st.text(max_size=60), min_size=1, max_size=4),
    st.lists(st.from_regex(r"[0-9a-f]{5,9}", fullmatch=True), min_size=1, max_size=5),
    st.lists(st.dates().map(str), min_size=1, max_size=5),
    st.lists(st.datetimes().map(lambda at: f"{at:%A, %d %B %Y %I:%M %p}"), min_size=1, max_size=5),
    st.lists(st.integers(0, 10**9).map(lambda n: f"{n:,}"), min_size=1, max_size=5),
    st.lists(st.uuids().map(str), min_size=1, max_size=5),
)


@given(CODES, VALUES)
@example("V06", ["a]", "b^", "-"])
@example("V04", ["1.", "2"])
@example("V02", ["\u0661\u0662", "12"])
def test_every_value_is_matched_as_a_whole(code, values):
    made = compiled(rf"\Ax({shape(values, code)})\z")
    for value in values:
        assert made.pieces(f"x{value}") == [(1, 1 + len(value))]


def test_white_space_is_bounded_by_what_was_seen():
    assert white_shape(["a\r\nb c", "a\nb c\n"]) == r"a[\n\r]{1,2}b c\n?"
    assert white_shape(["", "\n"]) == r"\n?"
    assert white_shape(["a b", "a c"]) is None


@given(st.lists(st.text(st.sampled_from(" \n\t\r"), max_size=4), min_size=8, max_size=8))
def test_texts_that_differ_in_white_space_are_matched(gaps):
    words = "one(", "two.", "drei"
    values = [
        "".join(gap + word for gap, word in zip(gaps[n : n + 3], words, strict=True)) + gaps[n + 3]
        for n in (0, 4)
    ]
    made = compiled(rf"\A{white_shape(values)}\z")
    assert all(made.matches_whole(value) for value in values)
