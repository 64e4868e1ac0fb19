"""Worked examples of https://platform.claude.com/docs/en/build-with-claude/prompt-caching."""

import tomllib
from dataclasses import replace
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachediag.analysis.engines import Breakpoint, CacheRequest, PromptBlock, Served
from cachediag.analysis.engines.anthropic import Anthropic, model_rules, price
from cachediag.analysis.engines.hosted import money
from cachediag.analysis.engines.model import Reason
from tests.analysis.engines.prompts import common, prompt, text

if TYPE_CHECKING:
    from cachediag.model import Section

MODEL = "claude-opus-4-8"
SIZE = 210
"""Tokens of a block: five reach the minimum of 1,024, four do not."""


class Api:
    """Sends prompts of equal blocks."""

    def __init__(self) -> None:
        self._model = Anthropic()
        self._seen: list[list[int]] = []

    def send(self, numbers, *marks, kinds=None, sections=None, size=SIZE, **more) -> Served:
        """A prompt of these blocks, marked at these (counted from 1); 1h marks are negative."""
        tokens = prompt(*(text(size, number) for number in numbers))
        kinds = kinds or ["text"] * len(numbers)
        sections = sections or ["messages"] * len(numbers)
        shared = max((common(tokens, old) for old in self._seen), default=0)
        self._seen.append(list(tokens))
        return self._model.serve(
            CacheRequest(
                index=len(self._seen),
                lane="main",
                tokens=tokens,
                shared=shared,
                blocks=tuple(
                    PromptBlock(end, section, kind, "user")
                    for end, kind, section in zip(tokens.starts[1:], kinds, sections, strict=True)
                ),
                breakpoints=tuple(
                    Breakpoint(abs(mark) - 1, "1h" if mark < 0 else "5m") for mark in marks
                ),
                **{"model": MODEL, **more},
            )
        )


def blocks(served: Served) -> tuple[float, float]:
    return served.reused / SIZE, served.created / SIZE


def code(served: Served) -> str | None:
    return served.reason.code if served.reason else None


def test_lookback_in_a_growing_conversation() -> None:
    """The example of that name: 10 blocks, 15, 35; and a second breakpoint at block 15."""
    api = Api()
    assert blocks(api.send(range(10), 10)) == (0, 10)
    assert blocks(api.send(range(15), 15)) == (10, 5)
    served = api.send(range(35), 35)
    assert blocks(served) == (0, 35)
    assert code(served) == "M02"
    again = Api()
    again.send(range(10), 10)
    again.send(range(15), 15)
    assert blocks(again.send(range(35), 15, 35)) == (15, 20)


def test_the_twentieth_position_is_the_last() -> None:
    api = Api()
    api.send(range(15), 15)
    # Blocks 34 to 15 are twenty positions.
    assert blocks(api.send(range(34), 34)) == (15, 19)


def test_breakpoint_on_content_that_changes_every_request() -> None:
    """The common mistake: five static blocks, and a timestamp in the sixth, which is marked."""
    api = Api()
    assert blocks(api.send([1, 2, 3, 4, 5, 60], 6)) == (0, 6)
    served = api.send([1, 2, 3, 4, 5, 61], 6)
    assert blocks(served) == (0, 6)
    assert code(served) == "M03"
    # The remedy: the breakpoint on block 5.
    assert blocks(api.send([1, 2, 3, 4, 5, 62], 5)) == (0, 5)
    assert blocks(api.send([1, 2, 3, 4, 5, 63], 5)) == (5, 0)


def test_automatic_caching_in_a_conversation() -> None:
    """The table of three requests: each caches up to its last block, and reads the one before."""
    api, auto = Api(), {"params": {"cache_control": b'{"type":"ephemeral"}'}}
    assert blocks(api.send(range(6), **auto)) == (0, 6)
    assert blocks(api.send(range(8), **auto)) == (6, 2)
    assert blocks(api.send(range(10), **auto)) == (8, 2)


def test_automatic_caching_passes_over_thinking_and_respects_a_marker() -> None:
    api, auto = Api(), {"params": {"cache_control": b'{"type":"ephemeral","ttl":"1h"}'}}
    kinds = ["text"] * 6 + ["thinking"]
    served = api.send(range(7), kinds=kinds, **auto)
    assert (blocks(served), served.created_1h) == ((0, 6), 6 * SIZE)
    assert blocks(Api().send(range(6), 6, **auto)) == (0, 6)


def test_a_run_of_tool_blocks_is_one_position() -> None:
    """On the Claude API a run of `tool_use` blocks, and one of `tool_result`, is one position."""
    kinds = ["text"] * 10 + ["tool_use"] * 15 + ["tool_result"] * 15
    api = Api()
    api.send(range(10), 10)
    assert blocks(api.send(range(40), 40, kinds=kinds)) == (10, 30)
    alternating = ["text"] * 10 + ["tool_use", "tool_result"] * 15
    api = Api()
    api.send(range(10), 10)
    assert code(api.send(range(40), 40, kinds=alternating)) == "M02"


def test_an_identical_request_reads_all_that_it_wrote() -> None:
    """The first example: 188,086 tokens created, then read; 21 after the breakpoint each time."""
    api = Api()
    first = api.send([1, 2], 1, size=188_086)
    assert (first.reused, first.created) == (0, 188_086)
    second = api.send([1, 2], 1, size=188_086)
    assert (second.reused, second.created) == (188_086, 0)


def test_mixed_lifetimes_are_charged_by_three_positions() -> None:
    """A: the highest hit; B: the highest 1-hour block after it; C: the last block."""
    api = Api()
    api.send(range(6), -6)
    served = api.send(range(12), -6, -9, 12)
    assert (blocks(served), served.created_1h / SIZE) == ((6, 6), 3)


def test_the_longer_lifetime_must_come_first() -> None:
    served = Api().send(range(12), 6, -12)
    assert (blocks(served), code(served)) == ((0, 0), "M05")


def test_there_are_four_breakpoints() -> None:
    api = Api()
    assert blocks(api.send(range(12), 2, 4, 8, 12)) == (0, 12)
    served = api.send(range(12), 2, 4, 6, 8, 12)
    assert (blocks(served), code(served)) == ((0, 0), "M03")


@pytest.mark.parametrize(("mark", "seconds"), [(6, 300), (-6, 3600)])
def test_an_entry_lives_from_the_start_of_the_request_that_used_it(mark: int, seconds: int) -> None:
    """A response of four minutes leaves one minute for the next request to start."""
    api = Api()
    api.send(range(6), mark, started=0, first_byte=2, ended=seconds - 60)
    assert blocks(api.send(range(6), mark, started=seconds, first_byte=seconds + 1)) == (6, 0)
    # Reading it has made its time begin anew.
    assert blocks(api.send(range(6), mark, started=2 * seconds)) == (6, 0)
    served = api.send(range(6), mark, started=3 * seconds + 1)
    assert (blocks(served), code(served)) == ((0, 6), "M05")


def test_an_entry_can_be_read_once_the_response_has_begun() -> None:
    api = Api()
    api.send(range(6), 6, started=0, first_byte=5)
    served = api.send(range(6), 6, started=1, first_byte=6)
    assert (blocks(served), code(served)) == ((0, 6), "P04")
    assert blocks(api.send(range(6), 6, started=7)) == (6, 0)


def test_shorter_than_the_minimum_is_neither_written_nor_read() -> None:
    api = Api()
    for _ in range(2):
        served = api.send(range(4), 4)
    assert (blocks(served), code(served)) == ((0, 0), "M04")
    assert blocks(api.send(range(6), 4, 6)) == (0, 6)


def test_without_a_breakpoint_nothing_is_kept() -> None:
    api = Api()
    api.send(range(10))
    served = api.send(range(10))
    assert (blocks(served), code(served)) == ((0, 0), "M03")


def test_a_frozen_breakpoint_keeps_what_stands_before_it() -> None:
    api = Api()
    api.send(range(10), 6)
    served = api.send(range(12), 6)
    assert (blocks(served), code(served)) == ((6, 0), "M03")
    assert served.reason is not None
    assert served.reason.note == f"the last breakpoint stands at token {6 * SIZE}"


SECTIONS = ["tools"] * 6 + ["system"] * 6 + ["messages"] * 6


@pytest.mark.parametrize(
    ("change", "kept", "name"),
    [
        ({"params": {"tool_choice": b'{"type":"any"}'}}, 12, "tool_choice"),
        ({"has_images": True}, 12, "images"),
        ({"params": {"thinking": b'{"type":"adaptive"}'}}, 12, "thinking"),
        ({"params": {"output_config": b'{"effort":"low"}'}}, 12, "effort"),
        ({"params": {"speed": b'"fast"'}}, 6, "speed"),
        ({"model": "claude-opus-5"}, 0, "model"),
    ],
)
def test_what_invalidates_the_cache(change, kept: int, name: str) -> None:
    """The table "What changes": which of tools, system and messages stay valid."""
    api = Api()
    api.send(range(18), 6, 12, 18, sections=SECTIONS)
    served = api.send(range(18), 6, 12, 18, sections=SECTIONS, **change)
    assert blocks(served) == (kept, 18 - kept)
    assert served.reason is not None
    assert served.reason.code == "S10"
    assert name in served.reason.note


def test_what_the_api_takes_as_the_same_invalidates_nothing() -> None:
    api = Api()
    api.send(range(18), 18, sections=SECTIONS)
    same = {"tool_choice": b'{"type":"auto"}', "output_config": b"{}", "max_tokens": b"5"}
    assert blocks(api.send(range(18), 18, sections=SECTIONS, params=same)) == (18, 0)


@pytest.mark.parametrize(
    ("model", "minimum", "price"),
    [
        ("claude-opus-5-5", 512, 4.0),
        ("claude-opus-5", 512, 5.0),
        ("claude-opus-4-8", 1024, 5.0),
        ("claude-opus-4-7", 2048, 5.0),
        ("claude-opus-4-5-20251101", 4096, 5.0),
        ("claude-opus-4-20250514", 1024, 15.0),
        ("claude-sonnet-4-5-20250929", 1024, 3.0),
        ("claude-sonnet-5-5", 512, 2.0),
        ("claude-haiku-4-5-20251001", 4096, 1.0),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 4096, 1.0),
        ("anthropic/claude-opus-4.5", 4096, 5.0),
    ],
)
def test_a_model_is_known_by_its_identifier(model: str, minimum: int, price: float) -> None:
    rules = model_rules(model)
    assert (rules.known, rules.minimum) == (True, minimum)
    assert rules.price is not None
    assert rules.price.input == price


def test_an_unknown_model_is_said_to_be() -> None:
    rules = model_rules("qwen3-30b")
    assert (rules.known, rules.minimum, rules.price) == (False, 1024, None)
    assert model_rules(None) == rules


def test_prices_are_those_of_the_table() -> None:
    """The pricing table: Opus 4.8 at 5, 6.25, 10 and 0.50; Opus 5.5 reads at 0.05 of 4 dollars."""
    million = 1_000_000
    older = model_rules("claude-opus-4-8").price
    assert older is not None
    assert money(million, Served(0), older) == 5.0
    assert money(million, Served(0, created=million), older) == 6.25
    assert money(million, Served(0, created=million, created_1h=million), older) == 10.0
    assert money(million, Served(million), older) == 0.5
    newer = model_rules("claude-opus-5-5").price
    assert newer is not None
    assert money(million, Served(million), newer) == 0.2


def test_a_price_is_dated_and_a_long_prompt_has_its_own() -> None:
    short, long = (price("claude-haiku-5-5", tokens) for tokens in (100_000, 100_001))
    assert short is not None
    assert long is not None
    assert (short.input, short.as_of) == (0.1, "2026-10")
    assert (long.input, long.write) == (0.5, 1.25)
    assert price("claude-mythos-preview", 10) is None


def test_the_minimum_is_in_tokens_of_the_models_own() -> None:
    """Of 800 estimated tokens the model makes 1,040, and it keeps prefixes from 1,024 on."""
    for factor, read in ((1.0, 0), (1.3, 800)):
        api = Api()
        api.send([1], 1, size=800, token_factor=factor)
        served = api.send([1], 1, size=800, token_factor=factor)
        assert served.reused == read
    short = Api()
    short.send([1], 1, size=400, token_factor=1.3)
    reason = short.send([1], 1, size=400, token_factor=1.3).reason
    assert reason is not None
    assert reason.note == "shorter than the model's minimum of 1024 tokens"


def test_every_row_has_its_source_and_date() -> None:
    for name in ("anthropic", "openai"):
        source = files("cachediag.analysis.engines").joinpath(f"{name}.toml").read_text("utf-8")
        data = tomllib.loads(source)
        rows = [
            *data["models"],
            *data.get("prices", []),
            *(data[key] for key in data.keys() & {"rules", "default"}),
        ]
        assert all(row["source"].startswith("https://") for row in rows)
        assert all(row["read"].startswith("2026-") for row in rows)


class EveryBlock(Anthropic):
    """Looks at every shared block for an entry that is not read."""

    def _written(self, prompt, found, minimum):
        blocks = prompt.request.blocks
        for block in reversed(range(len(blocks))):
            end = blocks[block].end
            if end <= prompt.request.shared and end in self._ends:
                if end <= found or end < minimum:
                    return
                yield block


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_reason_is_that_of_a_look_at_every_block(data: st.DataObject) -> None:
    """Blocks without tokens, too, which end where the block before them does."""
    engines, seen, now = (Anthropic(), EveryBlock()), list[list[int]](), 0.0
    talk: list[int] = []
    for index in range(6):
        talk = talk[: data.draw(st.integers(3, max(3, len(talk))))] or [900, 600, 700]
        talk += data.draw(st.lists(st.sampled_from([0, 600, 700, 1400]), min_size=1, max_size=5))
        tokens = prompt(*(text(size, size) for size in talk))
        ends = [sum(talk[: number + 1]) for number in range(len(talk))]
        sections: list[Section] = ["tools", "system"]
        sections += ["messages"] * len(talk)
        shared = max((common(tokens, old) for old in seen), default=0)
        seen.append(list(tokens))
        marks = data.draw(st.sets(st.integers(0, len(talk) - 1), max_size=3))
        now += data.draw(st.sampled_from([10.0, 400.0]))
        asked = CacheRequest(
            index=index,
            lane="main",
            tokens=tokens,
            model=MODEL,
            shared=shared,
            started=now,
            first_byte=now + 1,
            params={"speed": data.draw(st.sampled_from([b"1", b"2"]))},
            blocks=[
                PromptBlock(end, section, "text", "user")
                for end, section in zip(ends, sections, strict=False)
            ],
            breakpoints=tuple(map(Breakpoint, sorted(marks))),
        )
        served = [engine.serve(asked) for engine in engines]
        assert served[0] == served[1]


@pytest.mark.parametrize("settings", [{}, {"params": {"speed": b'"fast"'}}])
def test_an_empty_block_behind_a_section_is_not_taken_for_the_section(settings):
    model, size = Anthropic(), 6 * SIZE
    tokens = prompt(text(size, 1), text(SIZE, 2))
    sections: tuple[Section, ...] = ("tools", "system", "messages")
    ends = (size, size, size + SIZE)
    first = CacheRequest(
        index=0,
        lane="main",
        tokens=tokens,
        blocks=tuple(
            PromptBlock(end, section, "text", "user")
            for end, section in zip(ends, sections, strict=True)
        ),
        breakpoints=(Breakpoint(0, "5m"),),
        model=MODEL,
        started=0.0,
        first_byte=1.0,
    )
    assert model.serve(first).created == size
    later = replace(
        first,
        index=1,
        shared=size + SIZE,
        breakpoints=(Breakpoint(2, "5m"),),
        started=1_000.0,
        first_byte=1_001.0,
        **settings,
    )
    served = model.serve(later)
    assert (served.reused, served.reason) == (
        0,
        Reason("M05", f"the entry at token {size} had expired"),
    )
