"""Patterns that run away elsewhere, and texts that are made to have them do so."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.rules.pattern import PatternError, compiled
from tests.hostile.growth import growth

_RUNAWAYS = (
    *(r"\A(a+)+\z", r"\A(?:a+)+\z", r"\A(?:a|a)*\z", r"\A(?:a|aa)+\z", r"\A(?:a*)*b", r"\A(.*)*\z"),
    *(r"\A(a|b|ab)*c", r"\A(?:[a-z]+)*[0-9]", r"\A(\w+\s?)*\z", r"\A(?:x+x+)+y", r"\A(?=a+)a"),
    *(r"\A.*.*.*=", r"\A\s*\s*\s*x", r"\A\d+\d+\d+\d+z", r"\A[^x]*[^y]*[^z]*\z", r"\A(a)\1+\z"),
)
_TEXTS = (
    "a" * 40_000 + "!",
    " " * 40_000,
    "x" * 40_000,
    "0" * 40_000,
    "ab" * 20_000,
    "\na" * 20_000,
)


@pytest.mark.parametrize("pattern", _RUNAWAYS)
def test_what_runs_away_elsewhere_is_refused(pattern):
    with pytest.raises(PatternError):
        compiled(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\A\w*\d*z",
        r"\A[^,]*,[^,]*,",
        r"\A.{0,999}.{0,999}z",
        r"^a[^\n]*b",
        r"\A\s*x",
        r"\A.*?=(\w+)",
    ],
)
def test_what_is_taken_ends_soon_on_any_text(pattern):
    try:
        made = compiled(pattern)
    except PatternError:
        return
    before = time.process_time()
    for text in _TEXTS:
        made.pieces(text)
        made.matches_whole(text)
    assert time.process_time() - before < 3


_ATOMS = st.sampled_from(["a", "b", ".", r"\w", r"\s", "[ab]", "[^a]", r"\d", "(?:a|b)", "(?:ab)?"])
_COUNTS = st.sampled_from(["", "", "*", "+", "?", "{0,300}", "{2,9}", "*?", "{40}"])


@given(
    st.lists(st.tuples(_ATOMS, _COUNTS).map("".join), min_size=1, max_size=7).map("".join),
    st.sampled_from(["", "$", r"\z"]),
    st.sampled_from(_TEXTS),
)
@settings(max_examples=150, deadline=None)
def test_no_pattern_takes_more_than_its_steps(inner, end, text):
    try:
        made = compiled(rf"\A{inner}{end}")
    except PatternError:
        return
    before = time.process_time()
    made.pieces(text)
    assert time.process_time() - before < 2


def test_steps_beyond_all_bounds_are_told_in_a_line():
    with pytest.raises(PatternError, match=r"can take more than 1,000,000,000,000 steps"):
        compiled(r"\A" + "a?" * 30_000)


@pytest.mark.parametrize("form", ["literal", "class", "negated", "options"])
def test_the_time_to_read_a_pattern_grows_with_its_length(form):
    def pattern(count: int) -> str:
        characters = "".join(chr(0x100 + 2 * number) for number in range(count))
        return {
            "literal": rf"\A{characters}",
            "class": rf"\A[{characters}]",
            "negated": rf"\A[^{characters}]",
            "options": rf"\A(?:{'|'.join(f'{number:05}' for number in range(count // 20))})",
        }[form]

    assert growth(pattern, compiled.__wrapped__, 800, 8_000) < 5
