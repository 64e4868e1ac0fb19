from cachediag.analysis.engines import engine
from tests.analysis.engines.prompts import Session, prompt, text


def test_the_example_in_the_source() -> None:
    """The main block of SGLang's `radix_cache.py`: what is inserted, and what is found of it."""
    session = Session(engine("sglang"))
    for ids in ([1, 2, 3], [1, 2, 3], [1, 2, 4, 5], [1, 2, 4, 5, 6, 7], [8, 9, 10, 11, 12]):
        session.send(prompt(ids))
    assert session.reused(prompt([1, 2, 3, 13, 14])) == 3


def test_the_last_token_is_fed_again() -> None:
    session = Session(engine("sglang"))
    session.send(prompt(text(20)))
    assert session.reused(prompt(text(20))) == 19
    assert session.code(prompt(text(20))) is None


def test_a_reply_is_kept_but_for_its_last_token() -> None:
    session = Session(engine("sglang"))
    session.send(prompt(text(20)), reply=prompt(text(20), text(5, 1)))
    served = session.send(prompt(text(20), text(5, 1), text(9, 2)))
    assert (served.reused, served.reason) == (24, None)


def test_a_reply_is_found_however_the_next_prompt_is_cut() -> None:
    session = Session(engine("sglang"))
    session.send(prompt(text(20), [5]), reply=prompt(text(20), [5], text(5, 1), [6]))
    assert session.reused(prompt(text(20), [5, *text(5, 1)], [6], text(9, 2))) == 26


def test_pages_are_found_whole() -> None:
    session = Session(engine("sglang:page=8"))
    session.send(prompt(text(20)))
    assert session.reused(prompt(text(20), text(20, 1))) == 16


def test_whole_leaves_are_dropped() -> None:
    session = Session(engine("sglang:capacity=30"))
    for lane in range(3):
        session.send(prompt(text(10, lane)), str(lane))
    assert session.send(prompt(text(5, 4)), "4").evicted == ("0",)
    assert session.code(prompt(text(10, 0)), "0") == "P02"
