import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cachediag.rules.making.family import At, Family, Slot, family
from cachediag.rules.making.infer import infer
from cachediag.rules.making.shape import shape
from cachediag.rules.pattern import check, compiled

DASHES = "-\n" * 8


def inferred(made, slot=0, code=None):
    """The pattern of a slot."""

    def shapes(number):
        return shape(made.slots[number].values, made.slots[number].code)

    known = made.slots[slot].code if code is None else code
    return infer(made, made.before(slot), made.behind(slot), shapes, code=known)


@pytest.mark.parametrize(
    ("texts", "made"),
    [
        (["It is 3 PM.", "It is 4 PM."], r"\AIt is (\d{1,2} (?:AM|PM))\.\z"),
        (
            ["You are Tern.\nIt is 3 PM.\nBye", "You are Tern.\nIt is 4 PM.\nBye"],
            r"^It is (\d{1,2} (?:AM|PM))\.$",
        ),
        # The line begins with the piece, so the one before is taken in.
        (["Head\n212 notes\n", "Head\n214 notes\n"], r"\AHead\n(\d{1,15}) notes$"),
        # The line is there twice, and the one before tells them apart.
        (
            [f"A\nleft: 1\n{DASHES}B\nleft: {n}\n{DASHES}" for n in "12"],
            r"^B\nleft: (\d{1,15})$",
        ),
        # What stands behind is cut before what may change some day, and where it is long.
        (
            ["x\nUsed 7 on the day of 2026-11-29.", "x\nUsed 8 on the day of 2026-11-29."],
            r"^Used (\d{1,15}) on the day of ",
        ),
        (
            [f"x\nUsed {n} of the tokens that there are to spend" for n in "78"],
            r"^Used (\d{1,15}) of the tokens that there",
        ),
        (
            ["Status:\n M a.py\n\nRecent commits:\nx", "Status:\n\nRecent commits:\nx"],
            r"\AStatus:\n([\s\S]{0,2000}?)\nRecent commits:$",
        ),
    ],
)
def test_the_shortest_pattern_that_finds_the_piece_alone(texts, made):
    assert inferred(family(texts)) == made


def test_a_long_line_is_written_by_its_ends():
    line = "You plan berths for a small harbour. " * 8
    made = inferred(family([f"{line}Run 6c09a77.", f"{line}Run 1c8b4e0."]))
    assert made == (
        r"\AYou plan berths for a small harbour\. You plan berths for a s.{180}"
        r"r a small harbour\. You plan berths for a small harbour\. Run ([0-9a-f]{7})\.\z"
    )


def test_other_dates_in_the_piece_may_change_as_well():
    made = family(["The time is 15:09:20 on 2026-11-29.", "The time is 15:09:34 on 2026-11-29."])
    pattern = infer(made, At(0, 0), made.end, lambda _: r"\d{1,2}:\d{2}:\d{2}", code="V02")
    assert pattern == r"\AThe time is \d{1,2}:\d{2}:\d{2} on \d{4}-\d{2}-\d{2}\.\z"
    assert compiled(pattern).pieces("The time is 9:00:01 on 2027-01-01.") == [(0, 34)]


def test_text_of_any_kind_with_nothing_around_it_is_not_told():
    assert inferred(family(["one thing", "quite another one"])) is None
    assert inferred(family(["\n\none thing", "\n\nquite another one"])) is None


def test_half_of_a_character_cannot_stand_in_a_rule():
    assert inferred(family(["\ud800 has 1 berth", "\ud800 has 2 berth"])) is None


WORDS = st.sampled_from(["quay", "Berth", "tide (high)", "a+b", "[x]", "C:\\", "no.", "{1}", "é"])
LINES = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
KINDS = {
    "V02": st.dates().map(str),
    "V03": st.uuids().map(str),
    "V04": st.integers(0, 10**9).map(str),
    "V05": st.from_regex(r"[a-z]{3,8}(/[a-z]{2,6}){0,2}", fullmatch=True),
}


@st.composite
def families(draw):
    """Texts of stable lines, in one of which a value changes."""
    above, below = (draw(st.lists(LINES, max_size=4)) for _ in range(2))
    code = draw(st.sampled_from(sorted(KINDS)))
    values = draw(st.lists(KINDS[code], min_size=2, max_size=4, unique=True))
    left, right = draw(LINES | st.just("")), draw(LINES | st.just(""))
    head = "\n".join([*above, f"{left} " if left else ""])
    tail = "\n".join([f" {right}" if right else "", *below])
    texts = tuple(f"{head}{value}{tail}" for value in values)
    return Family(texts, (head, tail), (Slot(frozenset({code}), tuple(values)),))


@settings(deadline=None)
@given(families(), st.data())
def test_a_pattern_finds_every_value_and_nothing_where_its_neighbours_differ(made, data):
    pattern = inferred(made)
    assume(pattern is not None)
    check(pattern)
    head, tail = made.literals
    is_free = made.slots[0].code == "V05"
    unseen = [] if is_free else [data.draw(KINDS[made.slots[0].code])]
    for value in (*made.slots[0].values, *unseen):
        found = compiled(pattern).pieces(f"{head}{value}{tail}")
        assert found == [(len(head), len(head) + len(value))]
        if head:
            text = f"{head[:-1]}§{value}{tail}"
            # What is free is told by the line before it alone, which may stand there once more.
            line = head.rstrip("\n").rpartition("\n")[2]
            is_there_again = is_free and line in head[:-1].split("\n")[:-1]
            found = compiled(pattern).pieces(text)
            assert all(text[:start].endswith(f"{line}\n") for start, _ in found)
            assert found == [] or is_there_again
        if tail and not (is_free and tail[0] == "\n"):
            assert compiled(pattern).pieces(f"{head}{value}§{tail[1:]}") == []


@settings(deadline=None)
@given(families())
def test_a_line_of_its_own_is_always_found(made):
    start = made.literals[0].rpartition("\n")[2]
    assume(re.search(r"\w{2}", start) and all(text.count(start) == 1 for text in made.texts))
    assert inferred(made) is not None
