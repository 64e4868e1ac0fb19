"""Patterns that run away elsewhere, and texts that are made to have them do so."""

from functools import partial

import pytest

from benchmarks.hostile_input import PATTERNS, pattern
from cachediag.rules.pattern import PatternError, compiled
from tests.hostile.work import growth

_RUNAWAYS = (
    *(r"\A(a+)+\z", r"\A(?:a+)+\z", r"\A(?:a|a)*\z", r"\A(?:a|aa)+\z", r"\A(?:a*)*b", r"\A(.*)*\z"),
    *(r"\A(a|b|ab)*c", r"\A(?:[a-z]+)*[0-9]", r"\A(\w+\s?)*\z", r"\A(?:x+x+)+y", r"\A(?=a+)a"),
    *(r"\A\w*\d*z", r"\A.*?=(\w+)"),
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
    ("pattern", "found"),
    [
        (r"\A[^,]*,[^,]*,", {}),
        (r"\A.{0,999}.{0,999}z", {}),
        (r"^a[^\n]*b", {4: [(0, 20_002)]}),
        (r"\A\s*x", {2: [(0, 1)]}),
        # An open quantifier stands for 20,000.
        (r"\A[a-z]*b", {4: [(0, 20_000)]}),
    ],
)
def test_what_is_taken_is_found_in_any_text(pattern, found):
    made = compiled(pattern)
    assert [made.pieces(text) for text in _TEXTS] == [
        found.get(number, []) for number in range(len(_TEXTS))
    ]
    assert not any(map(made.matches_whole, _TEXTS))


def test_a_pattern_is_tried_at_some_lines_only():
    few, many = compiled(r"^a$"), compiled(r"^a[a-z ]{0,950}[^!\n]{0,950}!")
    assert (few.tries, many.tries) == (1_000, 16)
    assert len(few.pieces("a\n" * 20_000)) == 1_000
    assert len(many.pieces("a!\n" * 20_000)) == 16


def test_steps_beyond_all_bounds_are_told_in_a_line():
    with pytest.raises(PatternError, match=r"can take more than 1,000,000,000,000 steps"):
        compiled(r"\A" + "a?" * 30_000)


@pytest.mark.parametrize("form", PATTERNS)
def test_the_work_to_read_a_pattern_grows_with_its_length(form):
    made = partial(pattern, form)
    assert growth(made, compiled.__wrapped__, 400, 4_000) < 1.1


def test_long_patterns_are_read_right():
    of_one = [compiled(pattern(form, 4_000)) for form in PATTERNS]
    assert [each.matches_whole("\u0100") for each in of_one] == [False, True, False, False]
    assert [each.matches_whole("a") for each in of_one] == [False, False, True, False]
    assert compiled(pattern("literal", 4_000)).matches_whole(pattern("literal", 4_000)[2:])
