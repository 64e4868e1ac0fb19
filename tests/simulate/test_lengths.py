"""What heads of recorded requests hold, and why they differ, told of bodies made for it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.heads import common_head
from cachediag.model import Exchange, ExchangeInfo
from cachediag.session.source import numbered
from cachediag.simulate.lengths import LENGTHS, Looked, look
from cachediag.simulate.model import Unit
from tests.simulate.bodies import body, marked, sent, user
from tests.verify.sessions import choice, turn

LONG = "What lies at the quay? " * 200
SAID = {"role": "assistant", "content": "It does."}
MORE = (SAID, user("And behind it?"))
SYSTEM_FIRST = ("model", "system", "messages", "tools", "max_tokens")


def looked(*bodies: bytes, unit: Unit = "bytes") -> Looked:
    return look([sent(*bodies)], choice().counter, unit)


def test_the_lengths_are_those_that_a_router_may_be_given() -> None:
    assert LENGTHS == (1024, 2048, 4096, 8192, 16384, 32768, 65536)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 9_000), min_size=1, max_size=4))
def test_heads_are_counted_by_their_first_bytes(sizes: list[int]) -> None:
    bodies = [body(user("x" * size)) for size in sizes]
    found = looked(*bodies)
    assert found.requests == len(sizes)
    for each in found.lengths:
        heads = {one[: each.length] for one in bodies}
        assert each.heads == len(heads)
        assert (
            each.bytes
            == sorted(min(len(one), each.length) for one in bodies)[(len(bodies) - 1) // 2]
        )


def test_a_head_is_the_conversation_where_messages_stand_first() -> None:
    found = looked(body(user(LONG)), body(user(LONG), *MORE))
    by_length = {each.length: each for each in found.lengths}
    # The messages take 4,600 of some 6,900 bytes; system prompt and tools stand behind them.
    for length in (1024, 2048, 4096):
        of = by_length[length]
        assert (of.without_leading, of.leading_tokens, of.heads) == (2, 0, 1)
        assert of.ends_in == "messages[*].content"
    whole = by_length[8192]
    assert (whole.without_leading, whole.leading_tokens) == (0, found.leading_tokens)
    assert (whole.heads, whole.ends_in) == (2, None)


def test_tokens_of_a_head_are_the_share_of_its_blocks() -> None:
    counter = choice().counter
    question = body(user(LONG))
    prompt = counter.parser.parse(question)
    (block,) = [each for each in prompt.blocks if each.section == "messages"]
    of_block = len(counter.encoder.sequence([LONG]))
    found = {each.length: each for each in looked(question).lengths}
    share = (2048 - block.start) / (block.end - block.start)
    # What the template puts before and behind a text counts as its own.
    assert 0 <= found[2048].tokens - share * of_block < 5
    assert 0 <= found[8192].tokens - found[8192].leading_tokens - of_block < 10


def test_nothing_is_said_where_talk_is_appended_only() -> None:
    assert looked(body(user(LONG)), body(user(LONG), *MORE)).traps == ()


def test_nothing_is_said_where_another_model_is_asked() -> None:
    assert looked(body(user(LONG)), body(user(LONG), *MORE, model="other")).traps == ()


def test_a_volatile_value_is_told_from_where_it_differs() -> None:
    bodies = [turn(number) for number in range(3)]
    (trap,) = looked(*bodies).traps
    first = bodies[0].index(b"cch=") + len("cch=0000")
    assert (trap.kind, trap.code, trap.path) == ("volatile", "V01", "system[0].text")
    assert trap.offsets == (first, first)
    assert (trap.requests(first), trap.requests(first + 1)) == (0, 2)


def test_a_marker_that_moves_makes_other_bytes_of_the_same_prompt() -> None:
    a, b = body(marked(LONG)), body(user(LONG), SAID, marked("And behind it?"))
    (trap,) = looked(a, b).traps
    assert (trap.kind, trap.code, trap.path) == ("spelling", None, "messages[0].content")
    assert trap.offsets == (common_head(a, b),)


def test_a_field_beside_the_prompt_makes_other_bytes_too() -> None:
    order = ("model", "metadata", "messages", "system", "tools", "max_tokens")
    a, b = (body(user(LONG), order=order, metadata={"user_id": name}) for name in "xy")
    (trap,) = looked(a, b).traps
    assert (trap.kind, trap.path) == ("spelling", "metadata.user_id")


def test_fields_in_another_order_are_told_from_other_fields() -> None:
    a, b = body(user(LONG)), body(user(LONG), *MORE, order=SYSTEM_FIRST)
    (trap,) = looked(a, b).traps
    assert (trap.kind, trap.path) == ("key-order", "system")
    assert trap.offsets == (b.index(b"system"),)
    added = ("model", "metadata", "messages", "system", "tools", "max_tokens")
    (trap,) = looked(a, body(user(LONG), order=added, metadata={})).traps
    assert trap.kind == "spelling"


def test_another_order_behind_a_difference_of_the_talk_is_not_to_blame() -> None:
    order = ("model", "messages", "tools", "system", "max_tokens")
    assert looked(body(user(LONG)), body(user(LONG), *MORE, order=order)).traps == ()


def test_what_lies_behind_the_longest_head_is_no_trap() -> None:
    far = "x" * LENGTHS[-1]
    bodies = [
        body(user(far), order=("model", "messages", "metadata"), metadata={"user_id": name})
        for name in "xy"
    ]
    assert looked(*bodies).traps == ()


def chat(clock: str, text: str = "What lies there?") -> bytes:
    system = {"role": "system", "content": f"It is {clock} now. {'Ships come and go. ' * 100}"}
    return json.dumps({"model": "x", "messages": [system, user(text)]}).encode()


def of_chats(*bodies: bytes) -> Looked:
    info = ExchangeInfo(endpoint="chat", path="/v1/chat/completions")
    source = numbered("chats", [Exchange(info, each) for each in bodies])
    return look([source], choice().counter, "characters")


def test_characters_are_those_of_the_messages_text() -> None:
    found = of_chats(chat("2026-11-29 10:00:01"), chat("2026-11-29 10:00:02"))
    text = len(json.loads(chat("2026-11-29 10:00:01"))["messages"][0]["content"])
    whole = found.lengths[-1]
    assert whole.characters == whole.bytes == text + len("What lies there?")
    assert [each.heads for each in found.lengths] == [2] * len(LENGTHS)
    (trap,) = found.traps
    assert (trap.kind, trap.code) == ("volatile", "V02")
    assert trap.offsets == (len("It is 2026-11-29 10:00:0"),)


@pytest.mark.parametrize(("text", "size", "wide"), [("ä" * 2000, 3000, 1), ("a" * 2000, 2000, 0)])
def test_characters_of_more_bytes_are_seen(text: str, size: int, wide: int) -> None:
    found = of_chats(
        json.dumps({"model": "x", "messages": [user(text[:1000] + "b" * 1000)]}).encode()
    )
    of = {each.length: each for each in found.lengths}[65536]
    assert (of.characters, of.bytes, of.wide) == (2000, size, wide)


def test_without_requests_there_is_nothing_to_tell() -> None:
    found = look([], choice().counter, "bytes")
    assert (found.requests, found.lengths, found.traps) == (0, (), ())
