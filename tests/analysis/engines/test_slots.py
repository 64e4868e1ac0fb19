from cachediag.analysis.engines import engine
from tests.analysis.engines.prompts import Session, prompt, text


def send(session: Session, lane: int, tail: int):
    """A request whose system prefix is its lane's."""
    tokens = prompt(text(50, lane), text(30, 100 + tail))
    return session.send(tokens, str(lane), system_length=50, system_key=bytes([lane]))


def test_a_slot_keeps_the_system_prefix() -> None:
    session = Session(engine("system-slots"))
    assert send(session, 1, 1).created == 50
    assert send(session, 1, 2).reused == 50
    # The whole prompt was sent before, but only its system prefix is kept.
    served = send(session, 1, 2)
    assert served.reused == 50
    assert served.reason is not None
    assert served.reason.code is None


def test_two_lanes_miss_always_with_one_slot_and_hit_from_the_third_turn_with_four() -> None:
    """Measured on vllm-mlx with one slot and with four: two alternating prefixes."""
    one, four = Session(engine("system-slots:slots=1")), Session(engine("system-slots:slots=4"))
    assert [send(one, turn % 2, turn).reused for turn in range(6)] == [0] * 6
    assert [send(four, turn % 2, turn).reused for turn in range(6)] == [0, 0, 50, 50, 50, 50]


def test_who_took_the_slot_is_told() -> None:
    session = Session(engine("system-slots"))
    send(session, 1, 1)
    assert send(session, 2, 2).evicted == ("1",)
    reason = send(session, 1, 3).reason
    assert reason is not None
    assert (reason.code, reason.note) == ("P01", "2 took the slot")


def test_the_least_recently_used_slot_is_taken() -> None:
    session = Session(engine("system-slots:slots=2"))
    for lane in (1, 2, 1):
        send(session, lane, lane)
    assert send(session, 3, 3).evicted == ("2",)
    assert send(session, 1, 4).reused == 50


def test_without_a_system_prefix_nothing_is_looked_up() -> None:
    session = Session(engine("system-slots"))
    assert session.code(prompt(text(50))) == "P04"
    assert session.code(prompt(text(50)), system_length=50, system_key=b"x") == "P04"
