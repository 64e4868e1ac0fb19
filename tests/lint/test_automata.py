import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.lint.automata import risk
from tests.backtracking import TooManyStepsError, steps
from tests.hostile.work import calls

_MOST_CALLS = 5_000_000


@pytest.mark.parametrize(
    "pattern",
    ["^(a+)+$", "(a*)*", "^(a|aa|aaa)*b$", r"^(\w+\s?)*$", r"^\s*(\S+\s*)*$", "(.*)*x",
     "^(([a-z])+.)+[A-Z]([a-z])+$", "^((ab)*(ab)*)*$"],
)  # fmt: skip
def test_two_ways_round_a_loop(pattern: str) -> None:
    assert risk(pattern) == "ambiguous"


@pytest.mark.parametrize(
    "pattern",
    ["^[a-z]+$", r"^(\d+,)*\d+$", "^[a-z0-9]+(-[a-z0-9]+)*$", r"^.+@.+\..+$", "^(a|b)*c$",
     r"^\d{1,3}(\.\d{1,3}){3}$", "^.{0,1000}$", "^.{0,100000}$", "^(ab|cd)+$", "^a{0}$", "",
     "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", "^(?:[A-Za-z0-9+/]{4})*$", "x" * 4000,
     r"^([\w.-]+)@([\da-z.-]+)\.([a-z.]{2,6})$", r"^\p{L}+$", "^(?<year>[0-9]{4})$"],
)  # fmt: skip
def test_nothing_to_fear(pattern: str) -> None:
    assert risk(pattern) == "none"


@pytest.mark.parametrize(
    "pattern",
    ["^[ab]*a[ab]{12}$", "^((a{1,20}){1,20}){1,20}$", ".*[xy].{30}z", "(" * 6000],
)
def test_thousands_of_states(pattern: str) -> None:
    assert risk(pattern) == "states"


@pytest.mark.parametrize("pattern", ["(a", "[z-a]", r"(a)\1", "a{3,1}", "(" * 900 + ")" * 900])
def test_what_is_not_read(pattern: str) -> None:
    assert risk(pattern) == "unread"


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab()*+?|[]{}1,9^$.\\", max_size=16))
def test_the_work_to_judge_any_pattern_is_bounded(pattern: str) -> None:
    assert calls(lambda: risk.__wrapped__(pattern)) < _MOST_CALLS


_ATOMS = st.sampled_from(["a", "b", "ab", "[ab]", "(?:a|b)", "(?:ab)+b", "a*b"])
_TEXT = "ab" * 12 + "a" * 6


@settings(max_examples=60, deadline=None)
@given(st.lists(_ATOMS, min_size=1, max_size=4))
def test_what_is_not_ambiguous_does_not_run_away(atoms: list[str]) -> None:
    pattern = f"(?:{''.join(atoms)})*c"
    if risk(pattern) != "ambiguous":
        assert steps(pattern, _TEXT, most=1_000) > 0


def test_what_is_ambiguous_does() -> None:
    assert risk("(?:[ab]|a*b)*c") == "ambiguous"
    with pytest.raises(TooManyStepsError):
        steps("(?:[ab]|a*b)*c", _TEXT, most=5_000)
