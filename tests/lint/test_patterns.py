import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.lint.patterns import features


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("^[a-z]+$", ["anchor", "anchor"]),
        ("a(?=b)", ["lookahead"]),
        ("a(?!b)", ["lookahead"]),
        ("(?<=a)b", ["lookbehind"]),
        ("(?<!a)b", ["lookbehind"]),
        ("(?<name>a)", []),
        ("(?P<name>a)", []),
        ("(?:a)", []),
        ("(?i)a", ["flags"]),
        ("(?i:a)", ["flags"]),
        (r"(a)\1", ["backreference"]),
        (r"\k<n>", ["backreference"]),
        (r"\bfoo", ["word boundary"]),
        (r"\p{L}", ["unicode property"]),
        (r"\u{1F600}\u0041\x41", []),
        (r"\h", ["unknown escape"]),
        (r"\-\/\.", []),
        ("a{2,3}b{4}c{5,}", []),
        ("a{3,1}", ["counts"]),
        ("a{,3}", ["malformed"]),
        ("a{x}", ["malformed"]),
        ("a{99999999999}", ["huge count"]),
        ("*a", ["malformed"]),
        ("(a", ["malformed"]),
        ("a)", ["malformed"]),
        ("[a", ["malformed"]),
        ("a\\", ["malformed"]),
        ("a$b", ["inner anchor"]),
        ("a^b", ["inner anchor"]),
        ("^a$|^b$", ["anchor"] * 4),
        ("(^a$)", ["anchor", "anchor"]),
        ("[]a]", ["empty class"]),
        ("[z-a]", ["range"]),
        (r"[a-\d]", ["range"]),
        (r"[\d-x]", ["range of a class"]),
        ("[a-]", []),
        ("[^)(]", []),
        (r"[\]]", []),
        ("", []),
    ],
)
def test_features(pattern: str, names: list[str]) -> None:
    assert [each.name for each in features(pattern)] == names


def test_a_feature_says_where_it_stands() -> None:
    (found,) = [each for each in features(r"ab(?=c)[\p{L}]") if each.name == "unicode property"]
    assert (found.text, found.position, found.in_class) == (r"\p{L}", 8, True)


def test_a_very_long_pattern_is_not_read() -> None:
    assert [each.name for each in features("(" * 30_000)] == ["long"]


@given(st.text(alphabet="()[]{}*+?^$|\\-abp<=!:,0129", max_size=40))
def test_any_text_comes_to_an_end(pattern: str) -> None:
    for each in features(pattern):
        assert 0 <= each.position <= len(pattern)
