import pytest

from cachediag.protocol.jsontext import Span
from cachediag.rules.engine.edits import Edit, Edits

BODY = b"0123456789"


def spliced(*groups: tuple[Edit, ...]) -> tuple[bytes, list[bool]]:
    edits = Edits(BODY)
    taken = [edits.add(group) for group in groups]
    return edits.body(), taken


def test_nothing_added_is_the_same_object():
    assert Edits(BODY).body() is BODY


def test_bytes_take_the_place_of_others():
    assert spliced((Edit(2, 4, (b"xyz",)),), (Edit(8, 9),)) == (b"01xyz45679", [True, True])


def test_something_is_put_in_between():
    assert spliced((Edit(4, 4, (b"-",)),), (Edit(2, 4),))[0] == b"01-456789"


def test_values_change_places_and_are_changed_inside():
    slots = (Edit(0, 3, (Span(5, 9),), is_slot=True), Edit(5, 9, (Span(0, 3),), is_slot=True))
    assert spliced(slots, (Edit(6, 7, (b"!",)),)) == (b"5!78340129", [True, True])


def test_a_value_moves_from_where_it_is_taken_away():
    assert spliced((Edit(1, 3),), (Edit(9, 9, (b"<", Span(1, 3), b">")),))[0] == b"0345678<12>9"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Edit(2, 5), Edit(4, 7)),
        (Edit(2, 5), Edit(2, 5, (b"x",))),
        (Edit(2, 6), Edit(3, 4, (b"x",))),
        (Edit(3, 4), Edit(2, 6)),
        (Edit(2, 6), Edit(4, 4, (b"x",))),
        (Edit(2, 6, (Span(7, 8),), is_slot=True), Edit(2, 6)),
        (Edit(2, 6, (Span(7, 8),), is_slot=True), Edit(5, 7)),
    ],
)
def test_what_meets_an_earlier_change_is_left_out(first, second):
    assert spliced((first,), (second,))[1] == [True, False]
    assert spliced((first,), (second,))[0] == spliced((first,))[0]


def test_a_group_is_added_whole_or_not_at_all():
    assert spliced((Edit(2, 4),), (Edit(7, 8), Edit(3, 5))) == (b"01456789", [True, False])
