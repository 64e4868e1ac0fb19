import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.rules.pattern import PatternError, check, compiled, literal

HEADER = r"\Ax-anthropic-billing-header: cc_version=[0-9a-z.]{1,32};(?: cch=[0-9a-f]{5};)?\z"


def found(pattern: str, text: str) -> list[str]:
    return [text[start:end] for start, end in compiled(pattern).pieces(text)]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("x-anthropic-billing-header: cc_version=2.1.113.fa9; cch=6c09a;", True),
        ("x-anthropic-billing-header: cc_version=2.1.113.fa9;", True),
        ("x-anthropic-billing-header: cc_version=2.1.113.fa9; cch=6c09a;\nYou are", False),
        ("see x-anthropic-billing-header: cc_version=2.1.113.fa9;", False),
        ("x-anthropic-billing-header: cc_version=2.1.113.fa9; cch=6c09A;", False),
    ],
)
def test_a_whole_text_matches_or_not(text, whole):
    assert compiled(HEADER).matches_whole(text) is whole


def test_a_group_marks_the_piece():
    text = "Hi.\nToday is 2026-11-29.\nToday is 2026-1-2.\nToday is 2026-11-30."
    assert found(r"^Today is (\d{4}-\d{2}-\d{2})\.$", text) == ["2026-11-29", "2026-11-30"]


def test_without_a_group_it_is_the_whole_match():
    assert found("^Now: .{1,9}$", "a\nNow: 10:31\nb Now: 1") == ["Now: 10:31"]


def test_the_start_of_the_text_is_no_start_of_a_line():
    assert found(r"\AId: (\d+)", "Id: 1\nId: 2") == ["1"]
    assert found(r"^Id: (\d+)", "Id: 1\nId: 2") == ["1", "2"]


def test_a_group_in_an_option_that_was_not_taken_marks_nothing():
    assert found("^n: (?:a(b)|c)", "n: c\nn: ab\nn: c") == ["b"]


def test_pieces_do_not_overlap():
    assert found("^a\na$", "a\na\na\na") == ["a\na", "a\na"]


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        (r"^v\x3d([\u0041-\u005a]+)", "v=ABc", ["AB"]),
        (r"^tab\t(\S+)", "tab\tone two", ["one"]),
        (r"^([^;]+);", "a;b", None),
        (r"^k: (on|off)$", "k: off", ["off"]),
        (r"^k: (?:very )?(\w+)$", "k: very big", ["big"]),
        (r"^n: ([+-]?\d{1,3}(?:\.\d+)?)$", "n: -12.50", ["-12.50"]),
        (r"^a\.b(\D*)$", "a.b!?", ["!?"]),
        (r"^{(x+?)}", "{xx}", ["xx"]),
        (r"^é ([[\]^-]+)", "é ]-[^", ["]-[^"]),
        (r"^😀(.)", "😀☃", ["☃"]),
    ],
)
def test_the_language(pattern, text, pieces):
    if pieces is None:
        with pytest.raises(PatternError):
            check(pattern)
    else:
        assert found(pattern, text) == pieces


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("cch=[0-9a-f]{5}", "not anchored"),
        ("", "not anchored"),
        ("^[a-z]+=", "no text to find the line by"),
        ("^ *x", "no text to find the line by"),
        (r"\A(a+)+b", "repeats a group"),
        (r"\A(?:a|b)*", "repeats a group"),
        (r"\A[a-z]*[a-z]*[a-z]*0", "steps on one text"),
        (r"\A.*x.*y.*z", "steps on one text"),
        (r"\A.*a[^b]*b", "steps on one text"),
        (r"\A(a)(b)", "is no group of this language"),
        (r"\A(?=a)", "is no group of this language"),
        (r"\A(?P<n>a)", "is no group of this language"),
        (r"\A(a", "is not closed"),
        (r"\A[a", "is not closed"),
        (r"\Aa)", "has a meaning of its own"),
        (r"\A*a", "has a meaning of its own"),
        (r"\Aa|b", "has a meaning of its own"),
        (r"\A[z-a]", "ends a range that is none"),
        (r"\A[\d-z]", "ends a range that is none"),
        (r"\A\q", "is no escape"),
        (r"\A\bx", "is no escape"),
        (r"\Aa{5,2}", "is no count"),
        (r"\Aa{999999}", "is no count"),
        ("\\A\\", "is no escape"),
        (r"\A[^\s\S]", "a class of no character"),
        (r"\A" + "(?:" * 40 + "a" + ")" * 40, "nested too deeply"),
    ],
)
def test_what_is_refused_says_why(pattern, what):
    with pytest.raises(PatternError, match=re.escape(what)):
        check(pattern)


@given(st.text())
def test_a_literal_matches_its_text_alone(text):
    assert compiled(r"\A" + literal(text) + r"\z").matches_whole(text)
    assert not compiled(r"\A" + literal(text) + r"\z").matches_whole(text + "x")


_ATOMS = st.sampled_from(
    ["a", "b", " ", "[ab]", "[^a]", r"\d", r"\w", ".", r"[\s\S]", "(?:a|ab)", "(?:b )?", "é"]
)
_COUNTS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{0,3}", "{1,}", "*?"])
_PATTERNS = st.lists(
    st.builds(lambda atom, count: atom if atom.startswith("(") else atom + count, _ATOMS, _COUNTS),
    max_size=6,
).map("".join)


def accepted(pattern: str) -> bool:
    try:
        check(pattern)
    except PatternError:
        return False
    return True


@given(_PATTERNS.map(lambda rest: r"\A" + rest).filter(accepted), st.text("ab 1é\n", max_size=30))
def test_it_finds_what_pythons_own_expressions_find(pattern, text):
    own = re.match(pattern.replace(r"\z", r"\Z"), text, re.ASCII)
    found_ = compiled(pattern).pieces(text)
    assert found_ == ([own.span()] if own else [])
