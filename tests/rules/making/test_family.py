from hypothesis import given
from hypothesis import strategies as st

from cachediag.rules.making.family import At, family


def written(made, number):
    """One text, put together again from what is the same and what changes."""
    pieces = [made.literals[0]]
    for slot, literal in zip(made.slots, made.literals[1:], strict=True):
        pieces += [slot.values[number], literal]
    return "".join(pieces)


def test_what_changes_and_what_does_not():
    made = family(
        [
            "You plan berths.\nRun 6c09a77.\nAsked: 17 times.\nBe brief.",
            "You plan berths.\nRun 1c8b4e0.\nAsked: 18 times.\nBe brief.",
            "You plan berths.\nRun 90d3fab.\nAsked: 18 times.\nBe brief.",
        ]
    )
    assert made.literals == ("You plan berths.\nRun ", ".\nAsked: ", " times.\nBe brief.")
    assert [slot.values for slot in made.slots] == [
        ("6c09a77", "1c8b4e0", "90d3fab"),
        ("17", "18", "18"),
    ]
    assert [slot.code for slot in made.slots] == ["V03", "V04"]


def test_pieces_that_meet_are_one_and_of_no_known_kind():
    made = family(["Status: 3 open", "Status: 4 open", "Status: none at all"])
    (slot,) = made.slots
    assert slot.code == "V06"
    assert written(made, 2) == "Status: none at all"


def test_lines_begin_and_end_where_they_do_in_all_texts():
    made = family(["a\nb 1 c 2 d\ne", "a\nb 7 c 8 d\ne"])
    assert made.line_start(made.before(1)) == At(0, 2)
    assert made.line_end(made.behind(0)) == At(2, 2)
    assert made.pieces(At(0, 2), At(2, 2)) == ("b 1 c 2 d", "b 7 c 8 d")


WORDS = st.sampled_from(["quay", "berth", "2026-11-29", "17", "6c09a77e", "tide.", "Status:", "-"])
LINES = st.lists(WORDS, max_size=5).map(" ".join)
TEXTS = st.lists(LINES, max_size=8).map("\n".join)


@given(st.lists(TEXTS, min_size=1, max_size=5, unique=True))
def test_every_text_is_its_literals_and_its_values(texts):
    made = family(texts)
    assert made.texts == tuple(texts)
    assert [written(made, number) for number in range(len(texts))] == texts
    for at in (made.before(n) for n in range(len(made.slots))):
        starts = [made.offset(made.line_start(at), n) for n in range(len(texts))]
        assert all(s == 0 or t[s - 1] == "\n" for s, t in zip(starts, texts, strict=True))
