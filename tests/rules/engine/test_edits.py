import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def _meet(one: Edit, other: Edit) -> bool:
    """Whether two changes cannot both be made, told of one pair."""
    if one.start == one.end or other.start == other.end:
        point, around = (one, other) if one.start == one.end else (other, one)
        return around.start < point.start < around.end and not around.is_slot
    if one.end <= other.start or other.end <= one.start:
        return False
    if (one.start, one.end) == (other.start, other.end):
        return True
    holds = one.start <= other.start and other.end <= one.end
    held = other.start <= one.start and one.end <= other.end
    return not (holds and one.is_slot) and not (held and other.is_slot)


@st.composite
def _groups(draw: st.DrawFn) -> list[tuple[Edit, ...]]:
    places = st.integers(0, len(BODY))
    groups = list[tuple[Edit, ...]]()
    for _ in range(draw(st.integers(1, 8))):
        if draw(st.booleans()):
            start, length = draw(places), draw(st.integers(0, 4))
            groups.append((Edit(start, min(len(BODY), start + length), (b"x",)),))
        else:
            cuts = sorted(draw(st.sets(places, min_size=4, max_size=4)))
            one, two = Span(*cuts[:2]), Span(*cuts[2:])
            groups.append((Edit(*one, (two,), is_slot=True), Edit(*two, (one,), is_slot=True)))
    return groups


@given(_groups())
@settings(max_examples=100)
def test_a_group_is_added_where_no_pair_meets(groups):
    edits, kept = Edits(BODY), list[Edit]()
    for group in groups:
        free = not any(_meet(new, old) for new in group for old in kept)
        assert edits.add(group) is free
        kept += group if free else ()
