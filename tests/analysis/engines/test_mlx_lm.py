"""By `models/cache.py` and `server.py` of mlx-lm 0.31.3 and 0.32.2."""

from typing import Any

from cachediag.analysis.engines import engine
from cachediag.tokens.sequence import TokenSequence
from tests.analysis.engines.prompts import Session, prompt, text


def with_reply(tokens: TokenSequence, number: int, length: int = 5) -> TokenSequence:
    return TokenSequence([*tokens.chunks, *prompt(text(length, number)).chunks])


def test_the_last_token_of_an_identical_prompt_is_fed_again() -> None:
    """`fetch_nearest_cache`: `prefix = min(len(tokens) - 1, result.common_prefix)`."""
    session = Session(engine("mlx-lm"))
    tokens = prompt(text(100))
    session.send(tokens, reply=with_reply(tokens, 1))
    served = session.send(tokens, reply=with_reply(tokens, 1))
    assert (served.reused, served.reason) == (99, None)


def test_a_header_that_rotates_leaves_what_stands_before_it() -> None:
    """Measured on mlx_lm.server: 20 of 4,015 tokens cached, and 4,009 once it was stripped."""
    session = Session(engine("mlx-lm"))
    rotating = [prompt([*text(20), *text(3995, number)]) for number in (1, 2)]
    assert [session.reused(tokens, endpoint="chat") for tokens in rotating] == [0, 20]
    stripped = [prompt(text(4009, 3), text(6, number)) for number in (4, 5)]
    assert [session.reused(tokens, endpoint="chat") for tokens in stripped] == [0, 4009]


def test_prompt_and_reply_are_kept_whole() -> None:
    session = Session(engine("mlx-lm"))
    tokens = prompt(text(100))
    session.send(tokens, reply=with_reply(tokens, 1))
    assert session.reused(prompt(text(100), text(5, 1), text(9, 2))) == 105


def test_a_reply_that_comes_back_changed_is_trimmed() -> None:
    session = Session(engine("mlx-lm"))
    tokens = prompt(text(100))
    session.send(tokens, reply=with_reply(tokens, 1))
    assert session.reused(prompt(text(100), text(2, 1), text(9, 2))) == 102


def test_what_cannot_be_trimmed_is_reused_only_whole() -> None:
    session = Session(engine("mlx-lm:trim=0"))
    tokens = prompt(text(60), text(40, 1))
    settings: dict[str, Any] = {"endpoint": "chat", "system_length": 60, "history_length": 60}
    session.send(tokens, reply=with_reply(tokens, 2), **settings)
    # Its system text is kept on its own, and the prompt but for its last token.
    served = session.send(prompt(text(60), text(10, 1), text(30, 3)), **settings)
    assert (served.reused, served.reason and served.reason.code) == (60, "P05")
    served = session.send(tokens, **settings)
    assert (served.reused, served.reason) == (99, None)


def test_a_system_text_whose_end_joins_the_message_is_kept_up_to_there() -> None:
    session = Session(engine("mlx-lm:trim=0"))
    settings: dict[str, Any] = {"endpoint": "chat", "system_shared": 59, "history_length": 59}
    session.send(prompt(text(59), text(40, 1)), **settings)
    assert session.reused(prompt(text(59), text(40, 2)), **settings) == 59


def test_a_last_message_that_is_no_users_has_no_segments() -> None:
    session = Session(engine("mlx-lm:trim=0"))
    session.send(prompt(text(60), text(40, 1)), endpoint="chat", system_length=60)
    assert session.reused(prompt(text(60), text(40, 2)), endpoint="chat", system_length=60) == 0


def test_a_request_with_a_seed_keeps_the_whole_alone() -> None:
    """`_is_batchable`: a seed sends a request to `_serve_single`."""
    session = Session(engine("mlx-lm:trim=0"))
    tokens = prompt(text(60), text(40, 1))
    settings: dict[str, Any] = {"system_length": 60, "history_length": 60}
    session.send(tokens, endpoint="chat", params={"seed": b"1"}, **settings)
    assert session.reused(prompt(text(60), text(9, 2)), endpoint="chat", **settings) == 0


def test_the_oldest_of_ten_is_dropped() -> None:
    session = Session(engine("mlx-lm"))
    for number in range(11):
        served = session.send(prompt(text(50, number)), str(number))
    assert served.evicted == ("0",)
    assert session.code(prompt(text(50, 0)), "0") == "P01"


def test_looking_up_is_no_use() -> None:
    """`fetch_nearest_cache` does not touch the order; only keeping does."""
    session = Session(engine("mlx-lm:slots=2"))
    first, second = prompt(text(50, 1)), prompt(text(50, 2))
    session.send(first, "1", reply=with_reply(first, 3))
    session.send(second, "2", reply=with_reply(second, 4))
    # A branch off the first: the first itself is kept as long ago as before.
    assert session.send(prompt(text(40, 1), text(9, 5)), "1").evicted == ("1",)
    assert session.reused(second, "2") == 49


def test_a_conversation_that_grows_takes_one_place() -> None:
    session = Session(engine("mlx-lm:slots=2"))
    session.send(prompt(text(50, 9)), "other")
    parts = []
    for turn in range(5):
        parts.append(text(20, turn))
        assert session.send(prompt(*parts), "main").evicted == ()
    assert session.reused(prompt(text(50, 9)), "other") == 49


def test_what_is_being_served_cannot_be_found() -> None:
    session = Session(engine("mlx-lm"))
    tokens = prompt(text(50))
    session.send(tokens, started=0, first_byte=5, ended=20)
    # Before the first token nothing is kept, then the prompt but its last token.
    assert session.reused(prompt(text(50), text(5, 1)), started=2, first_byte=30, ended=40) == 0
    assert session.reused(prompt(text(50), text(5, 2)), started=6, first_byte=30, ended=40) == 49
    assert session.reused(prompt(text(50), text(5, 3)), started=25, first_byte=30, ended=40) == 50


def test_lm_studio_keeps_whole_prompts_alone() -> None:
    session = Session(engine("lm-studio:trim=0"))
    settings: dict[str, Any] = {"endpoint": "chat", "system_length": 60, "history_length": 60}
    session.send(prompt(text(60), text(40, 1)), **settings)
    assert session.reused(prompt(text(60), text(40, 2)), **settings) == 0
