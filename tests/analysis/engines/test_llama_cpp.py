"""By `tools/server/server-context.cpp` and `server-task.cpp` of llama.cpp."""

from cachediag.analysis.engines import engine
from tests.analysis.engines.prompts import Session, prompt, text


def test_one_token_is_always_evaluated() -> None:
    """The server's log: `need to evaluate at least 1 token` (n_past = 1635), set to 1634."""
    session = Session(engine("llama.cpp:slots=1"))
    session.send(prompt(text(1635)))
    served = session.send(prompt(text(1635)))
    assert (served.reused, served.reason) == (1634, None)


def test_an_idle_slot_that_was_cleared_is_restored() -> None:
    """llama.cpp's own test of `--cache-idle-slots`, `test_clear_and_restore`."""
    session = Session(engine("llama.cpp"))
    session.send(prompt(text(80)), "long")
    session.send(prompt(text(4, 1)), "short")
    assert session.reused(prompt(text(80)), "long") == 79
    assert session.reused(prompt(text(80), text(9, 2)), "long") == 80


def test_without_host_memory_slots_keep_what_they_hold() -> None:
    session = Session(engine("llama.cpp:host=0"))
    for lane in range(4):
        session.send(prompt(text(80, lane)), str(lane))
    assert [session.reused(prompt(text(80, lane)), str(lane)) for lane in range(4)] == [79] * 4
    # A fifth agent takes the slot used least recently, and then all go round.
    assert session.send(prompt(text(80, 4)), "4").evicted == ("0",)
    assert session.code(prompt(text(80, 0)), "0") == "P01"


def test_a_tenth_of_the_prompt_is_not_similar_enough() -> None:
    for shared, slots in ((10, 2), (11, 1)):
        session = Session(engine("llama.cpp:slots=2,host=0"))
        session.send(prompt(text(100, 1)))
        session.send(prompt(text(100, 2)))
        tokens = prompt([*text(shared, 2), *text(100 - shared, 3)])
        # Not similar: the least recently used slot is taken, which shares nothing.
        assert session.reused(tokens) == (0 if slots == 2 else shared)


def test_a_half_similar_prompt_costs_the_rest_of_the_slot() -> None:
    """At half or more the rest is not put aside; below, it is, and comes back."""
    for shared, back in ((50, 50), (49, 99)):
        session = Session(engine("llama.cpp:slots=1"))
        session.send(prompt(text(100, 1)), "main")
        session.send(prompt([*text(shared, 1), *text(100, 2)]), "other")
        served = session.send(prompt(text(100, 1)), "main")
        assert served.reused == back
        assert (served.reason is None) == (back == 99)


def test_a_state_aside_must_keep_a_quarter_of_itself() -> None:
    for shared, reused in ((25, 25), (24, 0)):
        session = Session(engine("llama.cpp:slots=1"))
        session.send(prompt(text(100, 1)))
        session.send(prompt(text(100, 2)))
        assert session.reused(prompt([*text(shared, 1), *text(50, 3)])) == reused


def test_host_memory_drops_the_oldest() -> None:
    session = Session(engine("llama.cpp:slots=1,host=200"))
    for number in range(3):
        session.send(prompt(text(100, number)), str(number))
    assert session.reused(prompt(text(100, 1)), "1") == 99
    assert session.code(prompt(text(100, 0)), "0") == "P01"


def test_what_does_not_fit_into_host_memory_is_lost() -> None:
    session = Session(engine("llama.cpp:host=90"))
    session.send(prompt(text(100)), "main")
    assert session.send(prompt(text(50, 1)), "other").evicted == ("main",)
    assert session.reused(prompt(text(100)), "main") == 0


def test_the_reply_stays_in_the_slot_but_its_last_token() -> None:
    session = Session(engine("llama.cpp:slots=1"))
    session.send(prompt(text(50)), reply=prompt(text(50), text(5, 1)))
    served = session.send(prompt(text(50), text(5, 1), text(9, 2)))
    assert (served.reused, served.reason) == (54, None)


def test_busy_slots_are_passed_over() -> None:
    session = Session(engine("llama.cpp:slots=2,host=0"))
    session.send(prompt(text(50)), started=0, ended=10)
    assert session.reused(prompt(text(50), text(5, 1)), started=5, ended=20) == 0
    # Both are busy: the request waits for the first to be free.
    assert session.reused(prompt(text(50), text(5, 2)), started=6, ended=30) == 50


def test_a_request_can_ask_for_no_cache() -> None:
    session = Session(engine("llama.cpp"))
    session.send(prompt(text(50)))
    served = session.send(prompt(text(50)), params={"cache_prompt": b"false"})
    assert (served.reused, served.reason and served.reason.code) == (0, "P04")
