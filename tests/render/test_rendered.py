from cachediag.render import Piece, Rendered, Segment

HEAD = Segment((Piece("system: ", None), Piece("Be brief.", 0)))
TALK = Segment((Piece("user: ", 0), Piece("Hi", 0), Piece("!", 1)))
WHOLE = Rendered((HEAD, TALK), (3, 5))


def test_pieces_make_up_the_text_with_blocks_numbered_in_the_prompt():
    assert WHOLE.text == "system: Be brief.user: Hi!"
    assert WHOLE.texts == ("system: Be brief.", "user: Hi!")
    assert WHOLE.pieces == (
        Piece("system: ", None),
        Piece("Be brief.", 3),
        Piece("user: ", 5),
        Piece("Hi", 5),
        Piece("!", 6),
    )


def test_the_block_of_every_character():
    blocks = [WHOLE.block_at(offset) for offset in range(len(WHOLE.text))]
    assert blocks == [None] * 8 + [3] * 9 + [5] * 8 + [6]
    assert WHOLE.block_at(len(WHOLE.text)) is None
    assert WHOLE.block_at(-1) is None
    assert WHOLE.starts == (0, 17, 26)


def test_pieces_that_are_found_are_found_once():
    asked = []

    def find() -> tuple[Piece, ...]:
        asked.append(1)
        return (Piece("a", 1), Piece("b", None))

    segment = Segment.found("ab", find)
    assert segment.text == "ab"
    assert asked == []
    assert segment.pieces == segment.pieces == (Piece("a", 1), Piece("b", None))
    assert asked == [1]


def test_the_last_user_text_is_looked_for_when_it_is_asked_for():
    assert WHOLE.last_user is None
    assert Rendered((HEAD,), (0,), find_last_user=lambda _: 7).last_user == 7
