import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.render import Piece
from cachediag.render.turns import Call, Turn, cut, joined, shifted, text_of, without

PIECES = st.lists(
    st.builds(Piece, st.text(max_size=6), st.integers(0, 3) | st.none()), max_size=5
).map(tuple)


@given(PIECES, st.integers(0, 30), st.integers(0, 30))
def test_a_cut_is_the_slice_of_the_text(pieces, start, end):
    assert text_of(cut(pieces, start, end)) == text_of(pieces)[start:end]


def test_a_cut_keeps_the_blocks():
    assert cut((Piece("abc", 0), Piece("def", 1)), 1, 5) == (Piece("bc", 0), Piece("de", 1))


LINES = st.lists(
    st.builds(Piece, st.text("xa\n", max_size=6), st.integers(0, 3) | st.none()), max_size=5
).map(tuple)


@pytest.mark.parametrize("form", [r"(?m)^x[^\n]*(?:\n|\Z)", r"x[^\n]*\n?"])
@given(LINES)
def test_taking_out_a_pattern_is_a_substitution(form, pieces):
    pattern = re.compile(form)
    assert text_of(without(pieces, pattern)) == pattern.sub("", text_of(pieces))


def test_nothing_taken_out_is_the_same_object():
    pieces = (Piece("abc", 0),)
    assert without(pieces, re.compile("x")) is pieces


def test_text_between_two_belongs_to_the_later():
    assert joined([(Piece("a", 0),), (Piece("b", 1),)], "\n") == (
        Piece("a", 0),
        Piece("\n", 1),
        Piece("b", 1),
    )


def test_shifted_pieces_count_from_another_block():
    assert shifted((Piece("a", 0), Piece("b", None)), 4) == (Piece("a", 4), Piece("b", None))


def test_the_first_block_of_a_turn():
    call = Call("Bash", {}, 1)
    assert Turn.of("assistant", (Piece("x", 2),), (call,)).first == 1
    assert Turn.of("assistant", (), (call,), thinking=Piece("hm", 0)).first == 0
    assert Turn.of("system", (Piece("x", None),)).first is None
