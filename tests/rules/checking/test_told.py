"""What a rule changes, without the pieces that change from request to request."""

from hypothesis import given
from hypothesis import strategies as st

from cachediag.rules.checking.told import Telling, Told, shortened


def told(*pairs):
    telling = Telling()
    for before, after in pairs:
        telling.add(before, after)
    return telling.told()


def test_what_differs_is_left_out():
    assert told(("v=1; cch=6c09a;", ""), ("v=1; cch=1c8b4;", "")) == (Told("v=1; cch=…;", "", 2),)


def test_changing_pieces_that_touch_are_one():
    assert told(("the day is 2026-11-29", ""), ("the day is 2025-01-02", "")) == (
        Told("the day is …", "", 2),
    )
    assert told(("count=1; at=2; of the tide", ""), ("count=3; at=4; of the tide", "")) == (
        Told("count=…; at=…; of the tide", "", 2),
    )


def test_texts_that_have_little_in_common_are_told_apart_the_commonest_first():
    assert told(
        ("one text here", "a"), ("another quite long", "b"), ("another quite long", "b")
    ) == (
        Told("another quite long", "b", 2),
        Told("one text here", "a", 1),
    )


def test_both_sides_belong_to_a_kind():
    assert told(("it is 5 now", "it is 1 now"), ("it is 6 now", "it is 1 now")) == (
        Told("it is … now", "it is 1 now", 2),
    )
    assert len(told(("it is 5 now", "it is 1 now"), ("it is 6 now", "gone"))) == 2


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=60))
def test_every_place_is_counted_and_the_memory_is_bounded(pairs):
    telling = Telling()
    for before, after in pairs:
        telling.add(before, after)
    assert sum(each.times for each in telling.told()) + telling.others == len(pairs)
    assert len(telling.told()) <= 16


def test_a_long_text_is_cut():
    assert told(("a " * 5_000, "")) == (Told("a " * 1_000 + "…", "", 1),)


@given(st.text(alphabet="ab …", max_size=400), st.integers(4, 200))
def test_a_shortened_text_fits_and_comes_from_the_text(text, width):
    short = shortened(text, width)
    assert len(short) <= width
    assert short.strip("…") in text


def test_the_piece_that_shows_what_changes_is_kept():
    text = "x" * 300 + "; cch=…;"
    short = shortened(text, 80)
    assert short == "…" + "x" * 71 + "; cch=…;"
    longer = shortened(text + "z" * 300, 80)
    assert longer == "…" + "x" * 54 + "; cch=…;" + "z" * 16 + "…"
    assert shortened("y" * 100, 80) == "y" * 79 + "…"
