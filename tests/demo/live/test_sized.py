"""The conversation is as long as was asked for, and otherwise the demo's own."""

from itertools import pairwise

import pytest

from cachediag.demo.client import opening
from cachediag.demo.live.sized import MOST_TOKENS, conversation
from cachediag.demo.script import Lane, Script
from cachediag.errors import UsageError


def size(lane: Lane) -> int:
    return len(opening(lane)) // 4


@pytest.mark.parametrize("tokens", [5_000, 9_000, 12_000, 20_000, MOST_TOKENS])
def test_the_prefix_is_as_long_as_asked_for_and_hardly_longer(tokens: int) -> None:
    lane = conversation(tokens, "tiny", size)
    assert tokens <= size(lane) < tokens + 1_000


def test_it_is_short_and_made_of_the_demos_words(words: Script) -> None:
    lane = conversation(0, "tiny", size)
    assert lane.model == "tiny"
    assert [tool["name"] for tool in lane.tools] == ["Edit", "Grep"]
    assert lane.system == words.main.system
    assert [bool(step.call) for step in lane.steps] == [True, True, False, False]
    assert lane.prompts == words.main.prompts
    assert all(lane.results.values())


def test_tools_come_before_a_longer_system_prompt(words: Script) -> None:
    lanes = [conversation(tokens, "tiny", size) for tokens in range(4_000, 16_000, 1_000)]
    for one, other in pairwise(lanes):
        assert {tool["name"] for tool in one.tools} <= {tool["name"] for tool in other.tools}
        if one.system != words.main.system:
            assert one.tools == other.tools == words.main.tools
            assert other.system[1]["text"].startswith(one.system[1]["text"])


def test_it_is_the_same_each_time() -> None:
    assert conversation(20_000, "tiny", size) == conversation(20_000, "tiny", size)


def test_the_model_has_no_room_for_more() -> None:
    with pytest.raises(UsageError, match="28001 is more than"):
        conversation(MOST_TOKENS + 1, "tiny", size)
