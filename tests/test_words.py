import pytest

from cachediag.words import listing


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
