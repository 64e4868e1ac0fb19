"""The live demo's recording, a made-up server in the engine's place."""

import json
from pathlib import Path

from cachediag.demo.live.recorded import record
from cachediag.demo.live.sized import conversation
from cachediag.demo.script import Lane
from cachediag.demo.upstream import running_upstream
from cachediag.model import Exchange
from cachediag.session import Session


def lane() -> Lane:
    return conversation(0, "tiny", lambda _: 0)


def recorded() -> tuple[Path, list[Exchange], list[str]]:
    stored: list[Exchange] = []
    told: list[str] = []
    # Its replies are the script's; the client is not to depend on them.
    with running_upstream(lane()) as upstream:
        path = record(lane(), upstream.url, tell=told.append, stored=stored.append)
    return path, stored, told


def test_the_whole_conversation_is_stored_and_told(home: Path) -> None:
    path, stored, told = recorded()
    assert path == home / "sessions" / "demo-live.cachediag"
    assert told == []
    assert [exchange.info.index for exchange in stored] == [0, 1, 2, 3]
    with Session.open(path) as session:
        assert [each.request for each in session.exchanges()] == [each.request for each in stored]
        assert session.meta["client"] == "made up"


def test_the_talk_goes_by_the_script(home: Path) -> None:
    *_, last = (json.loads(exchange.request) for exchange in recorded()[1])
    said = [each["content"] for each in last["messages"] if each["role"] == "assistant"]
    assert said == [list(step.content) for step in lane().steps[:-1]]
    assert [each["role"] for each in last["messages"]][-1] == "user"


def test_the_next_one_takes_its_place(home: Path) -> None:
    first, second = recorded()[0], recorded()[0]
    assert first == second
    assert [entry.name for entry in first.parent.iterdir()] == ["demo-live.cachediag"]
