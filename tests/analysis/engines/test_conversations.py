from cachediag.analysis.engines import Served, engine
from tests.analysis.engines.prompts import Session, prompt, text

HEAD = 50


def send(session: Session, system: int, *tails: int) -> Served:
    """A conversation under a system prefix, its lane's."""
    tokens = prompt(text(HEAD, system), *(text(20, tail) for tail in tails))
    return session.send(tokens, str(system), system_length=HEAD, system_key=b"%d" % system)


def test_a_conversation_grows_in_its_slot_but_for_its_last_token() -> None:
    session = Session(engine("conversation-slots:slots=2"))
    head = text(50)
    parts: dict[str, list[range]] = {}
    reused = []
    for turn in range(6):
        lane = "ab"[turn % 2]
        parts.setdefault(lane, []).append(text(20, turn + 1))
        tokens = prompt(head, *parts[lane])
        reused.append(session.reused(tokens, lane, system_length=50, system_key=b"x"))
    # The second conversation finds their common system prefix.
    assert reused == [0, 50, 69, 69, 89, 89]


def test_a_kept_conversation_is_trimmed() -> None:
    session = Session(engine("conversation-slots"))
    session.send(prompt(text(50), text(30, 1)))
    assert session.reused(prompt(text(50), text(10, 1), text(5, 2))) == 60
    assert session.reused(prompt(text(50), text(10, 1), text(5, 2))) == 64


def test_a_new_system_prefix_takes_the_slot_that_was_used_least_recently() -> None:
    session = Session(engine("conversation-slots:slots=2"))
    for system in (1, 2, 1):
        send(session, system, 10 + system)
    assert send(session, 3, 13).evicted == ("2",)
    reason = send(session, 2, 12).reason
    assert reason is not None
    assert (reason.code, reason.note) == ("P01", "3 took the slot")


def test_two_prefixes_in_turn_need_two_slots() -> None:
    one, two = (Session(engine(f"conversation-slots:slots={n}")) for n in (1, 2))
    lanes = [(1, 11), (2, 12)] * 3
    assert [send(one, *lane).reused for lane in lanes] == [0] * 6
    assert [send(two, *lane).reused for lane in lanes] == [0, 0, *[HEAD + 19] * 4]


def test_of_nine_conversations_the_one_unused_for_longest_goes_and_not_the_prefix() -> None:
    session = Session(engine("conversation-slots:slots=1"))
    for tail in range(10, 18):
        send(session, 1, tail)
    # Of use again, so that the second is the oldest now.
    assert send(session, 1, 10, 20).reused == HEAD + 19
    assert send(session, 1, 18).reused == HEAD
    assert send(session, 1, 11).reused == HEAD
    # By now it is the third that went.
    assert send(session, 1, 12).reused == HEAD
    assert send(session, 1, 10, 20, 21).reused == HEAD + 39


def test_what_is_short_is_neither_kept_nor_reused() -> None:
    session = Session(engine("conversation-slots"))
    short = prompt(text(20, 1), text(12, 2))
    assert [session.reused(short) for _ in range(2)] == [0, 0]
    long = prompt(text(20, 1), text(40, 3))
    assert session.reused(long) == 0
    assert session.reused(prompt(text(20, 1), text(40, 4))) == 0
    assert session.reused(long) == 59
