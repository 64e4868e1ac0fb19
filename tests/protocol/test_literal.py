import json

from hypothesis import given
from hypothesis import strategies as st

from cachediag.protocol import jsontext
from cachediag.protocol.literal import byte_offset
from tests.rules.bodies import Speller


@given(st.text(), st.text(), st.integers(0, 2**32))
def test_a_literal_is_cut_where_its_text_is(before, behind, seed):
    write = Speller(seed)
    # Two halves of a pair would become one character.
    if before[-1:] and behind[:1] and "\ud800" <= before[-1] <= "\udbff":
        before += "-"
    head, tail = write.literal(before)[1:-1], write.literal(behind)[1:-1]
    assert byte_offset(head + tail, len(before)) == len(head)
    assert byte_offset(head + tail, len(before + behind)) == len(head + tail)
    assert jsontext.decode(b'"' + head + b'"') == before


def test_beyond_the_end_is_the_end():
    inside = json.dumps("é\n☃").encode()[1:-1]
    assert byte_offset(inside, 9) == len(inside)
    assert byte_offset(b"abc", 9) == 3
