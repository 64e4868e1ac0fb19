"""By `engine/simple.py` of 0.4.1 and 0.6.0; there is no documentation of these caches."""

from typing import Any

import pytest

from cachediag.analysis.engines import Served, engine
from tests.analysis.engines.prompts import Session, prompt, text


def turn(session: Session, number: int, lane: str = "main", system: int = 0, **more) -> Served:
    """A turn of a growing conversation with a system prefix of 50 tokens."""
    tokens = prompt(text(50, system), *(text(20, 100 + at) for at in range(number)), [7])
    settings = {"stream": True, "system_length": 50, "system_key": bytes([system])}
    return session.send(tokens, lane, **{**settings, **more})


def test_a_growing_conversation_reuses_its_system_prefix_each_turn() -> None:
    session = Session(engine("vllm-mlx@0.6.0"))
    assert [turn(session, number).reused for number in range(1, 5)] == [0, 50, 50, 50]


def test_before_0_4_nothing_is_kept() -> None:
    session = Session(engine("vllm-mlx@0.3.0"))
    assert [turn(session, number).reused for number in range(1, 4)] == [0, 0, 0]


def test_0_4_keeps_the_history_in_its_key() -> None:
    """Reported in vllm-mlx's issues 567 and 714: a growing conversation misses every turn."""
    session = Session(engine("vllm-mlx@0.4.1"))
    served = [turn(session, number, history_length=30 + 20 * number) for number in range(1, 5)]
    assert [one.reused for one in served] == [0, 0, 0, 0]
    assert [one.reason and one.reason.code for one in served] == [None, "P06", "P06", "P06"]
    # The same history again, with another last message, is found.
    assert turn(session, 4, history_length=110).reused == 110
    reason = turn(session, 4, history_length=0).reason
    assert reason is not None
    assert reason.code == "P04"


def test_four_prefixes_are_kept_by_default() -> None:
    session = Session(engine("vllm-mlx"))
    for system in range(4):
        turn(session, 1, str(system), system)
    assert turn(session, 2, "0", 0).reused == 50
    assert turn(session, 1, "4", 4).evicted == ("1",)
    reason = turn(session, 2, "1", 1).reason
    assert reason is not None
    assert (reason.code, reason.note) == ("P01", "4 took the slot")


@pytest.mark.parametrize(
    ("settings", "eligible"),
    [
        ({"stream": False}, False),
        ({"stream": False, "has_tools": True}, True),
        (
            {"stream": False, "has_tools": True, "params": {"tool_choice": b'{"type":"none"}'}},
            False,
        ),
        # /v1/messages hands neither stop sequences nor top_k on to the engine.
        ({"params": {"stop_sequences": b'["x"]', "top_k": b"40"}}, True),
        ({"params": {"temperature": b"0", "top_p": b"0.5"}, "endpoint": "chat"}, True),
        ({"params": {"stop": b'["x"]'}, "endpoint": "chat"}, False),
        ({"params": {"stop": b"null"}, "endpoint": "chat"}, True),
        ({"params": {"top_k": b"40"}, "endpoint": "chat"}, False),
        ({"params": {"top_k": b"0"}, "endpoint": "chat"}, True),
        ({"params": {"min_p": b"0.1"}, "endpoint": "chat"}, False),
        ({"params": {"presence_penalty": b"0.5"}, "endpoint": "chat"}, False),
        ({"params": {"repetition_penalty": b"1.0"}, "endpoint": "chat"}, True),
        ({"params": {"repetition_penalty": b"1.1"}, "endpoint": "chat"}, False),
        ({"params": {"logit_bias": b'{"5":1}'}, "endpoint": "chat"}, False),
        ({"params": {"response_format": b'{"type":"json_object"}'}, "endpoint": "chat"}, False),
        ({"params": {"response_format": b'{"type":"text"}'}, "endpoint": "chat"}, True),
        ({"params": {"top_k": b"40"}, "endpoint": "responses"}, True),
        ({"system_length": 0}, False),
    ],
)
def test_who_may_use_the_cache(settings, eligible: bool) -> None:
    session = Session(engine("vllm-mlx"))
    turn(session, 1)
    served = turn(session, 2, **settings)
    assert served.reused == (50 if eligible else 0)
    assert (served.reason is not None and served.reason.code == "P04") is not eligible


def test_what_is_not_eligible_is_not_kept() -> None:
    session = Session(engine("vllm-mlx"))
    turn(session, 1, stream=False)
    assert turn(session, 2).reused == 0


def test_a_second_request_at_a_time_is_refused() -> None:
    times: list[dict[str, Any]] = [
        {"started": 0, "ended": 9},
        {"started": 5, "ended": 12},
        {"started": 10, "ended": 11},
    ]
    session = Session(engine("vllm-mlx"))
    served = [turn(session, number + 1, **time) for number, time in enumerate(times)]
    assert [one.reused for one in served] == [0, 0, 50]
    assert served[1].reason is not None
    assert served[1].reason.code == "P04"
    waiting = Session(engine("vllm-mlx:wait=1"))
    assert [turn(waiting, at + 1, **time).reused for at, time in enumerate(times)] == [0, 50, 50]
