import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.rules.making.proposals.header_fields import NAME, dropping, header, holding
from cachediag.rules.pattern import compiled

MAIN = f"{NAME} cc_version=2.1.113.fa9; cc_entrypoint=cli; cch=6c09a;"
AGENT = f"{NAME} cc_version=2.1.113.2ba; cc_entrypoint=cli; cc_is_subagent=true; cch=1c8b4;"
FIRST_PARTY = (
    f"{MAIN} cc_prev_req=req_011CUa; cc_prompt_id=0b5ce1d2-6f0e-4c7a-9a64-1f0e8d2b7c55;"
    " cc_turn_origin=user; cc_prompt_index=0; cc_turn_index=1;"
)
OTHERS = [
    "",
    NAME,
    f"{NAME} cch=6c09a; You bind books;",
    f"{MAIN}\nYou bind books.",
    f"{MAIN} You bind books;",
    f"Behold: {MAIN}",
    f"{MAIN}\n",
    MAIN.replace("6c09a", "not hex"),
    MAIN.replace("cli", "c l i"),
]


def read(*texts):
    return [made for text in texts if (made := header(text))]


def dropped(*texts):
    """The pattern of headers that have a block of their own."""
    made = dropping(read(*texts))
    assert made is not None
    return compiled(made)


def held(*texts, **options):
    """The pattern and the values of what rotates."""
    made = holding(read(*texts), **options)
    assert made is not None
    return compiled(made.pattern), made.values


def test_a_header_is_read_field_by_field():
    (made,) = read(f"{MAIN}\nYou bind books.")
    assert [(field.name, field.value) for field in made.fields] == [
        ("cc_version", "2.1.113.fa9"),
        ("cc_entrypoint", "cli"),
        ("cch", "6c09a"),
    ]
    assert made.rest == "\nYou bind books."
    assert read("You bind books.", NAME, f" {MAIN}") == []


@pytest.mark.parametrize("seen", [(MAIN,), (MAIN, AGENT), (FIRST_PARTY, MAIN)])
def test_every_known_header_is_found_and_nothing_else(seen):
    found = dropped(*seen)
    assert all(found.matches_whole(text) for text in (MAIN, FIRST_PARTY, *seen))
    assert found.matches_whole(f"{NAME} cc_version=2.1.332.c93; cc_entrypoint=sdk-cli;")
    assert not any(found.matches_whole(text) for text in OTHERS)


def test_a_field_that_is_not_known_takes_what_was_seen():
    made = dropped(f"{NAME} cc_version=1; nonce=a/b+c;", MAIN)
    assert made.matches_whole(f"{NAME} cc_version=2; nonce=x=y;")
    assert not made.matches_whole(f"{NAME} cc_version=2; nonce=x y;")


def test_a_header_that_does_not_end_with_a_semicolon():
    made = dropped(f"{NAME} cc_version=2.1.19.a98; cc_entrypoint=cli")
    assert made.matches_whole(f"{NAME} cc_version=2.1.19.f52; cc_entrypoint=sdk-cli")


def test_white_space_behind_the_header():
    made = dropped(f"{MAIN}\n")
    assert made.matches_whole(MAIN)
    assert made.matches_whole(f"{MAIN}\n")
    assert not made.matches_whole(f"{MAIN}\nx")


def test_fields_in_orders_that_contradict_one_another_have_no_pattern():
    assert dropping(read(f"{NAME} a=1; b=2;", f"{NAME} b=2; a=1;")) is None
    assert dropping(read(f"{NAME} a=1; a=2;")) is None


def test_what_rotates_is_held():
    pattern, values = held(f"{MAIN}You", f"{MAIN.replace('6c09a', '1c8b4')}You")
    assert values == ("6c09a", "1c8b4")
    assert pattern.pieces(f"{MAIN}You") == [(len(MAIN) - 6, len(MAIN) - 1)]
    assert holding(read(f"{MAIN}You")) is None


def test_all_between_the_first_field_that_rotates_and_the_last_is_held():
    later = FIRST_PARTY.replace("6c09a", "1c8b4").replace("cc_turn_index=1", "cc_turn_index=2")
    pattern, values = held(f"{MAIN}\nYou", f"{FIRST_PARTY}\nYou", f"{later}\nYou")
    assert values[0] == "6c09a;"
    assert values[2] == later.partition("cch=")[2]
    for text in (MAIN, FIRST_PARTY, later):
        ((start, end),) = pattern.pieces(f"{text}\nYou")
        assert text[start:end] == text.partition("cch=")[2]


def test_a_header_that_stands_alone_is_not_held_where_it_is_dropped():
    texts = [f"{MAIN}\nYou bind books.", f"{MAIN.replace('6c09a', '1c8b4')}\nYou find books."]
    pattern, _ = held(*texts, not_alone=True)
    assert [len(pattern.pieces(text)) for text in (*texts, MAIN, AGENT)] == [1, 1, 0, 0]


NAMES = st.sampled_from(["cc_version", "cc_entrypoint", "cch", "cc_turn_index", "nonce", "x_y"])
VALUES = st.text(
    st.characters(codec="utf-8", exclude_characters=";", exclude_categories=["Z", "C"])
)


@settings(deadline=None)
@given(st.lists(st.dictionaries(NAMES, VALUES, min_size=1), min_size=1, max_size=4))
def test_every_value_of_a_session_is_explained(rows):
    order = ["cc_version", "cc_entrypoint", "cch", "cc_turn_index", "nonce", "x_y"]
    texts = [
        NAME + "".join(f" {name}={row[name]};" for name in order if name in row) for row in rows
    ]
    made = dropped(*texts)
    assert all(made.matches_whole(text) for text in texts)
