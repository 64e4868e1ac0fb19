"""The live demo's recording, a made-up server in the engine's place."""

import json
from pathlib import Path

from cachediag.analysis.choice import Choice
from cachediag.demo.client import opening
from cachediag.demo.live.recorded import REQUESTS, prefix_tokens, record_made_up
from cachediag.demo.script import Lane
from cachediag.demo.upstream import running_upstream
from cachediag.session import Session
from cachediag.verify.backends import Live

from .conftest import Ear


def test_the_whole_conversation_is_stored_and_told(home: Path, session: Path, ear: Ear) -> None:
    assert session == home / "sessions" / "demo-live.cachediag"
    assert ear.lines == [f"recording to {session.name}"]
    assert [exchange.info.index for exchange in ear.stored] == list(range(REQUESTS))
    with Session.open(session) as opened:
        assert [each.request for each in opened.exchanges()] == [
            each.request for each in ear.stored
        ]
        assert (opened.meta["client"], opened.meta["backend"]) == ("made up", "made up")


def test_the_talk_goes_by_the_script(lane: Lane, session: Path, ear: Ear) -> None:
    *_, last = (json.loads(exchange.request) for exchange in ear.stored)
    said = [each["content"] for each in last["messages"] if each["role"] == "assistant"]
    assert said == [list(step.content) for step in lane.steps[:-1]]
    assert last["messages"][-1]["role"] == "user"


def test_the_next_one_takes_its_place(lane: Lane, session: Path, choice: Choice, ear: Ear) -> None:
    with running_upstream(lane) as upstream:
        live = Live(upstream.url, "tiny")
        assert record_made_up(live, 0, choice.counter, {}, ear.told) == session
    assert [entry.name for entry in session.parent.iterdir()] == ["demo-live.cachediag"]


def test_the_prefix_is_tools_and_system_prompt(lane: Lane, choice: Choice) -> None:
    counter = choice.counter
    whole = len(counter.tokens(counter.parser.parse(opening(lane), "messages")))
    # The user's first words and the marks around them are what is left.
    words = len(counter.encoder.sequence((lane.prompts[0],)))
    assert whole - prefix_tokens(opening(lane), counter) - words in range(4, 12)
    alone = b'{"model":"m","messages":[{"role":"user","content":"Hello"}]}'
    assert prefix_tokens(alone, counter) == 0
