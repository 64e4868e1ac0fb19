"""The steps that are counted before a pattern is used are as many as it can take."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cachediag.rules.pattern import reader
from cachediag.rules.pattern.reader import Reader
from cachediag.rules.pattern.source import source_of
from cachediag.rules.pattern.steps import most_steps
from tests.backtracking import steps

_LONGEST = 12
_FINER = 4
"""More is taken for a step here than there."""
_ATOMS = st.sampled_from(
    [
        "a",
        "b",
        ".",
        r"\w",
        r"\s",
        "[ab]",
        "[^a]",
        r"\d",
        "(?:a|b)",
        "(?:a|ab)",
        "(?:ab)?",
        "(?:b )?",
    ]
)
_COUNTS = st.sampled_from(["", "", "*", "+", "?", "{0,3}", "{2,9}", "*?", "+?", "{4}"])
_PATTERNS = st.lists(
    st.builds(lambda atom, count: atom if atom.startswith("(") else atom + count, _ATOMS, _COUNTS),
    min_size=1,
    max_size=4,
).map("".join)

# What is alike throughout is what leads back most often.
_TEXTS = st.sampled_from(["a" * 30, "ab" * 15, "b" * 30, " " * 30, "1" * 30]) | st.text("ab 1\n")


@example(inner=".*.*.*b", end="", text="a" * 30)
@example(inner="a*(?:a|ab)a*c", end="", text="ab" + "a" * 30)
@given(_PATTERNS, st.sampled_from(["", "$", r"\z"]), _TEXTS)
@settings(max_examples=200, deadline=None)
def test_no_try_takes_more_steps_than_were_counted(inner, end, text):
    with pytest.MonkeyPatch.context() as patch:
        # An open quantifier is taken for one of so many characters.
        patch.setattr(reader, "LONGEST", _LONGEST)
        read = Reader(inner + end, 0)
        items = read.sequence()
        behind = read.end()
    counted = most_steps(items, to_an_end=bool(behind))
    assert steps(source_of(items) + behind, text, most=_FINER * (counted + len(items))) >= 0
