"""Worked examples of https://developers.openai.com/api/docs/guides/prompt-caching."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachediag.analysis.engines import CacheRequest, PromptBlock, engine
from cachediag.analysis.engines.openai import _ends, openai_rules, price
from tests.analysis.engines.prompts import Session, prompt, text


def send(session: Session, *parts, roles=None, model: str = "gpt-5.6", **more):
    """A prompt of one block a message."""
    tokens = prompt(*parts)
    roles = roles or ["user"] * len(parts)
    blocks = tuple(
        PromptBlock(
            end,
            "system" if role == "developer" else "messages",
            "tool_result" if role == "tool" else "text",
            role,
            number,
        )
        for number, (end, role) in enumerate(zip(tokens.starts[1:], roles, strict=True))
    )
    return session.send(tokens, endpoint="chat", model=model, blocks=blocks, **more)


@pytest.mark.parametrize(
    ("shared", "reused"), [(1023, 0), (1024, 1024), (1151, 1024), (1152, 1152), (1300, 1280)]
)
def test_hits_come_in_steps(shared: int, reused: int) -> None:
    """Cached tokens are 1024, 1152, 1280, 1408 and so on (the page until 2026; up to GPT-5)."""
    session = Session(engine("openai"))
    send(session, text(shared), text(2000, 1), model="gpt-4o")
    assert send(session, text(shared), text(2000, 2), model="gpt-4o").reused == reused


def test_the_usage_of_the_documentation() -> None:
    """The page's example: of a prompt of 2,006 tokens sent again, 1,920 are cached."""
    session = Session(engine("openai"))
    send(session, text(2006), model="gpt-4o-2024-08-06")
    assert send(session, text(2006), model="gpt-4o-2024-08-06").reused == 1920


def test_gpt_5_5_has_breakpoints_every_2048_tokens() -> None:
    session = Session(engine("openai"))
    send(session, text(5000), text(100, 1), model="gpt-5.5")
    assert send(session, text(5000), text(100, 2), model="gpt-5.5").reused == 4096


def test_from_gpt_5_6_a_prefix_ends_with_a_message() -> None:
    session = Session(engine("openai"))
    assert send(session, text(1500), text(100, 1)).created == 1600
    assert send(session, text(1500), text(100, 1), text(50, 2)).reused == 1600
    # A shared prefix is not always a cached prefix: nothing was written after the first message.
    assert send(session, text(1500), text(100, 3)).reused == 0


def test_the_developer_messages_at_the_head_are_looked_up() -> None:
    session, roles = Session(engine("openai")), ["developer", "user"]
    send(session, text(1500), roles=["developer"])
    # Nothing but a developer message: the prefix ends with it.
    assert send(session, text(1500), text(100, 1), roles=roles).reused == 1500


def test_tool_results_in_a_row_end_with_the_last() -> None:
    session = Session(engine("openai"))
    roles = ["user", "assistant", "tool", "tool"]
    parts = [text(1500), text(10, 1), text(20, 2), text(30, 3)]
    assert send(session, *parts, roles=roles).created == 1560
    grown = send(session, *parts, text(10, 4), text(20, 5), roles=[*roles, "assistant", "tool"])
    assert grown.reused == 1560


def plain_ends(blocks: list[PromptBlock]) -> list[int]:
    """Where a prefix can end, found from the front, every block looked at."""
    eligible, head = [], 0
    for block, after in zip(blocks, [*blocks[1:], None], strict=False):
        is_result = "tool" in (block.kind.removesuffix("_result"), block.role)
        goes_on = after is not None and "tool" in (after.kind.removesuffix("_result"), after.role)
        ends_message = after is None or after.message != block.message
        if ends_message and block.section != "tools":
            if is_result and not goes_on:
                eligible.append(block.end)
            if block.role == "user" and not is_result:
                eligible.append(block.end)
    for block in blocks:
        if block.section != "tools":
            if block.role not in ("system", "developer"):
                break
            head = block.end
    return [*([head] if head and head not in eligible[-21:] else []), *eligible[-21:]]


_ROLES = [
    ("user", "text"),
    ("user", "tool_result"),
    ("tool", "tool_result"),
    ("assistant", "text"),
    ("developer", "text"),
]


@given(st.integers(0, 2), st.lists(st.tuples(st.sampled_from(_ROLES), st.booleans()), max_size=60))
def test_the_messages_that_are_looked_up_are_the_last(tools: int, talk: list) -> None:
    blocks, message = [PromptBlock(n + 1, "tools", "tool", "tools") for n in range(tools)], 0
    for (role, kind), next_message in talk:
        message += next_message
        blocks.append(PromptBlock(len(blocks) + 1, "messages", kind, role, message))
    asked = CacheRequest(index=0, lane="main", tokens=prompt(text(10)), blocks=blocks)
    assert _ends(asked) == plain_ends(blocks)


@pytest.mark.parametrize(("more", "reused"), [(20, 1500), (21, 0)])
def test_twenty_earlier_messages_are_looked_up(more: int, reused: int) -> None:
    session = Session(engine("openai"))
    send(session, text(1500))
    messages = [text(10, number) for number in range(1, more + 1)]
    assert send(session, text(1500), *messages).reused == reused


@pytest.mark.parametrize(
    ("model", "params", "seconds"),
    [
        ("gpt-4o", {}, 600),
        ("gpt-4.1", {"prompt_cache_retention": b'"24h"'}, 1800),
        ("gpt-5.5", {"prompt_cache_retention": b'"in_memory"'}, 600),
        ("gpt-5.6", {}, 1800),
    ],
)
def test_an_unused_prefix_expires(model: str, params, seconds: int) -> None:
    session = Session(engine("openai"))

    def at(started: float):
        return send(session, text(4096), model=model, params=params, started=started)

    assert at(0).reused == 0
    assert at(seconds).reused == 4096
    # Reading it has made its time begin anew.
    assert at(2 * seconds).reused == 4096
    served = at(3 * seconds + 1)
    assert (served.reused, served.reason and served.reason.code) == (0, "M05")


def test_shorter_than_the_minimum_is_not_cached() -> None:
    for model in ("gpt-4o", "gpt-5.6"):
        session = Session(engine("openai"))
        send(session, text(1000), model=model)
        reason = send(session, text(1000), model=model).reason
        assert reason is not None
        assert reason.code == "M04"


@pytest.mark.parametrize("name", ["reasoning", "prompt_cache_key", "parallel_tool_calls"])
def test_settings_part_the_cache(name: str) -> None:
    session = Session(engine("openai"))
    send(session, text(2048))
    assert send(session, text(2048), params={name: b'"other"'}).reused == 0
    assert send(session, text(2048), params={"max_tokens": b"9"}).reused == 2048


def test_a_model_is_known_by_the_longest_name() -> None:
    assert openai_rules("gpt-5.6-sol").interval == 0
    assert openai_rules("gpt-5.5-pro").interval == 2048
    assert openai_rules("openai/gpt-5-mini").read == 0.1
    assert openai_rules("gpt-6.1-sol").read == 0.05
    assert openai_rules(None).minimum == 1024


def test_a_price_is_that_of_the_very_model() -> None:
    for name in ("gpt-5", "openai/gpt-5", "gpt-5-2025-08-07"):
        paid = price(name, 1_000)
        assert paid is not None
        assert (paid.input, paid.read, paid.write) == (1.25, 0.1, 1.0)
    assert price("gpt-5-pro", 1_000) is None
    assert price("qwen3-30b", 1_000) is None
    long = price("gpt-6.2-sol", 272_001)
    assert long is not None
    assert (long.input, long.write, long.read) == (4.0, 1.25, 0.05)
