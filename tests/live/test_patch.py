"""The patch on real releases: what the model is made to process, and what it says.

Nothing here is a matter of seconds: the model's forward passes are counted.
"""

import random
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cachediag.fix.patch import (
    Options,
    apply,
    at_site,
    in_force,
    plan_patch,
    plan_unpatch,
    releases,
    state_of,
)
from tests.live.patching import RELEASES, Watched, copied, patched_copy, served, usage_of

_WORDS = (
    *("harbour", "tide", "ledger", "cargo", "beacon", "anchor", "signal", "rudder"),
    *("channel", "quay", "pilot", "crew"),
)
_PROMPTS = 26
"""Of each release; of all eight together more than 200."""
_GENERATED = 6


def prose(seed: object, words: int) -> str:
    """Made-up text, the same for the same seed."""
    chosen = random.Random(str(seed))
    return " ".join(chosen.choice(_WORDS) for _ in range(words))


def message(system: str, *said: str, **more: Any) -> dict[str, Any]:
    """A request of `/v1/messages`: the user begins, and the parties take turns."""
    roles = ("user", "assistant")
    turns = [{"role": roles[place % 2], "content": text} for place, text in enumerate(said)]
    return {"system": system, "messages": turns, "stream": True, **more}


def prompts() -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests of three conversations in turn, of both protocols, streamed and not."""
    tools = [{"name": "Look", "description": prose("d", 30), "input_schema": {"type": "object"}}]
    lanes: list[list[str]] = [[], [], []]
    for number in range(_PROMPTS):
        lane = number % 3
        said = lanes[lane]
        said.append(prose(number, 12))
        more = {"max_tokens": _GENERATED, "stream": number % 2 == 0}
        system = prose(f"system {lane}", 60)
        if lane < 2:
            given = {"tools": tools} if lane == 0 else {}
            yield "/v1/messages", message(system, *said, **more, **given)
        else:
            turns = message(system, *said)["messages"]
            opening = [{"role": "system", "content": system}]
            yield "/v1/chat/completions", {"messages": [*opening, *turns], **more}
        said.append(prose(f"reply {number}", 5))


def generated(server: Watched) -> list[list[int]]:
    """The tokens of each reply."""
    told = []
    for path, body in prompts():
        forwards = server.ask(path, body)[1]
        told.append([token for _, token in forwards[-_GENERATED:]])
        assert -1 not in told[-1]
    return told


def sums(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_table_has_what_runs_here() -> None:
    assert tuple(release.version for release in releases()) == RELEASES


@pytest.mark.parametrize("release", RELEASES)
def test_patched_and_taken_out_every_file_is_as_it_was(release: str, tmp_path: Path) -> None:
    site = copied(release, tmp_path)
    before = sums(site)
    state = state_of(at_site(site))
    assert state.release is not None
    assert (state.kind, state.release.version) == (
        "nothing" if release < "0.4" else "upstream",
        release,
    )
    apply(plan_patch(state, Options()))
    state = state_of(at_site(site))
    assert state.kind == "ours"
    assert plan_patch(state, Options()).changes == ()
    assert sums(site) != before
    apply(plan_unpatch(state))
    assert sums(site) == before


@pytest.mark.parametrize("release", RELEASES)
def test_a_release(release: str, tmp_path: Path) -> None:
    site = copied(release, tmp_path)
    with served(site, release, tmp_path / "stock", "qwen2-random") as server:
        assert in_force(server.server.url).kind == "absent"
        expected = generated(server)
    # What it says follows from the prompt.
    assert len({tuple(tokens) for tokens in expected}) > _PROMPTS // 2
    apply(plan_patch(state_of(at_site(site)), Options()))
    with served(site, release, tmp_path / "patched", "qwen2-random") as server:
        assert in_force(server.server.url).kind == "on"
        assert generated(server) == expected
        counters = server.stats()["counters"]
        # Each conversation begins once.
        assert (counters["misses"], counters["hits"]) == (3, _PROMPTS - 3)
        assert (counters["partial_hits"], counters["failures"], counters["passed"]) == (0, 0, 0)
        turns_cost_their_new_tokens(server)
        it_goes_on(server)


def turns_cost_their_new_tokens(server: Watched) -> None:
    """By the model's own count, the usage, and the statistics."""
    said = list[str]()
    kept = 0
    for turn in range(4):
        said.append(prose(f"turn {turn}", 40))
        body = message(prose("growing", 90), *said, stream=turn % 2 == 0)
        usage, processed = server.counted(body)
        assert usage["cache_read_input_tokens"] == kept
        assert usage["input_tokens"] == processed == server.stats()["last"]["prefilled_tokens"]
        # All but the last token, which is asked for its follower.
        kept += usage["input_tokens"] - 1
        said.append(prose(f"answer {turn}", 10))


def it_goes_on(server: Watched) -> None:
    """After clients that left, a prefill that failed, and more prefixes than slots."""
    for replies in (1, 8):
        server.leave(message(prose("left", 60), "Tell me all.", max_tokens=2000), replies)
        assert server.answers(message(prose("left", 60), f"And {replies}?"))
    before = server.forwards()
    server.leave_without_a_stream(message(prose("left", 60), "Tell me all.", max_tokens=2000))
    assert server.answers(message(prose("left", 60), "And now?"))
    # What nobody waits for is not made to its end.
    assert server.forwards() - before < 1000
    body = message(prose("failing", 60), "Hello", max_tokens=_GENERATED)
    server.fail(1)
    _, first = server.ask("/v1/messages", body)
    assert server.stats()["counters"]["failures"] == 1
    _, second = server.ask("/v1/messages", body)
    assert first[-_GENERATED:] == second[-_GENERATED:]
    server.fail(2)
    # The path without a cache fails as well, and the client is told.
    assert server.answers(message(prose("broken", 60), "Hello"))
    for number in range(16):
        assert server.answers(message(prose(f"alternating {number}", 60), "Hello"))
    stats = server.stats()
    assert (stats["in_use"], len(stats["slots"]), stats["state"]) == (4, 4, "on")
    assert stats["counters"]["failures"] == 2
    assert server.clear()["cachediag_prefix_cache"] == {"dropped_slots": 4}
    assert server.stats()["in_use"] == 0


@pytest.mark.parametrize(("slots", "hits"), [(1, 0), (2, 4)])
def test_alternating_prefixes_need_a_slot_each(slots: int, hits: int, tmp_path: Path) -> None:
    site = patched_copy("0.3.0", tmp_path, Options(slots=slots))
    with served(site, "0.3.0", tmp_path / "home", "qwen2") as server:
        reused = [
            server.counted(message(prose(f"prefix {turn % 2}", 100), f"Turn {turn}"))[0]
            for turn in range(6)
        ]
        counters = server.stats()["counters"]
    assert [usage["cache_read_input_tokens"] > 0 for usage in reused] == [
        turn >= 2 and slots == 2 for turn in range(6)
    ]
    assert (counters["hits"], counters["partial_hits"], counters["misses"]) == (hits, 0, 6 - hits)


def test_the_scope_of_system_prompts_keeps_them_alone(tmp_path: Path) -> None:
    site = patched_copy("0.6.0", tmp_path, Options(scope="system"))
    with served(site, "0.6.0", tmp_path / "home", "qwen2") as server:
        said, read, new = list[str](), list[int](), list[int]()
        for turn in range(4):
            said.append(prose(f"turn {turn}", 40))
            usage, processed = server.counted(message(prose("growing", 90), *said))
            read.append(usage["cache_read_input_tokens"])
            new.append(processed)
            said.append("So it is.")
        system = server.stats()["last"]["system_tokens"]
    assert read == [0, system, system, system]
    assert new[1] < new[2] < new[3]


def test_system_messages_inside_a_conversation_end_no_prefix(tmp_path: Path) -> None:
    """0.6.0 would move them to the front."""
    site = patched_copy("0.6.0", tmp_path, Options())
    with served(site, "0.6.0", tmp_path / "home", "qwen2") as server:
        turns, kept = list[dict[str, str]](), 0
        for turn in range(4):
            turns.append({"role": "user", "content": prose(f"turn {turn}", 40)})
            turns.append({"role": "system", "content": f"{4000 - turn} tokens are left."})
            body = {"system": prose("growing", 90), "messages": turns, "stream": turn % 2 == 0}
            usage, processed = server.counted(body)
            assert (usage["cache_read_input_tokens"], usage["input_tokens"]) == (kept, processed)
            kept += processed - 1
            turns.append({"role": "assistant", "content": "So it is."})


def test_branches_share_the_system_prompt_that_none_of_them_pushes_out(tmp_path: Path) -> None:
    site = patched_copy("0.3.0", tmp_path, Options(slots=1))
    with served(site, "0.3.0", tmp_path / "home", "qwen2") as server:
        for number in range(12):
            server.counted(message(prose("shared", 90), f"{number}: {prose(number, 40)}"))
        stats = server.stats()
        assert (stats["counters"]["misses"], stats["counters"]["hits"]) == (1, 11)
        (slot,) = stats["slots"]
        assert (slot["pinned"], len(slot["branches"])) == (True, 8)


def test_a_state_that_cannot_be_cut(tmp_path: Path) -> None:
    """It is of use where a prompt goes on where another ended, and in full."""
    site = patched_copy("0.3.0", tmp_path, Options())
    with served(site, "0.3.0", tmp_path / "home", "mamba2") as server:
        opening = prose("opening", 40)
        body = message(prose("growing", 90), opening)
        first, processed = server.counted(body)
        assert (first["cache_read_input_tokens"], first["input_tokens"]) == (0, processed)
        system = server.stats()["last"]["system_tokens"]
        went_on, processed = server.counted(message(prose("growing", 90), opening, "So.", "Why?"))
        # All of the prompt before it was asked for a reply.
        assert system < went_on["cache_read_input_tokens"] < first["input_tokens"] - 1
        assert went_on["input_tokens"] == processed
        branched, processed = server.counted(message(prose("growing", 90), "Something else."))
        assert branched["cache_read_input_tokens"] == system
        assert branched["input_tokens"] == processed


def test_what_brings_options_of_its_own_is_served(tmp_path: Path) -> None:
    """Stop words, penalties and the like skip upstream's own cache."""
    site = patched_copy("0.6.0", tmp_path, Options())
    more = {"stop_sequences": ["xyzzy"], "top_k": 20, "temperature": 0.5}
    with served(site, "0.6.0", tmp_path / "home", "qwen2") as server:
        for expected in (0, 1):
            body = message(prose("system", 60), "Hello", max_tokens=4, **more)
            answer, _ = server.ask("/v1/messages", body)
            assert (usage_of(answer)["cache_read_input_tokens"] > 0) == bool(expected)
