import pytest

from cachediag.words import did_you_mean, listing


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("", ""),
        ("a", "a"),
        ("ab", "a and b"),
        ("abcd", "a, b, c and d"),
        ("abcde", "a, b, c and 2 more"),
        ("aabab", "a and b"),
    ],
)
def test_names_in_a_sentence(names: str, said: str) -> None:
    assert listing(names) == said


def test_the_word_that_is_most_like_one_whatever_its_case() -> None:
    assert did_you_mean("DEMO-LIV", ["demo", "Demo-live"]) == "Did you mean Demo-live? "
    assert did_you_mean("other", ["demo"]) == ""
