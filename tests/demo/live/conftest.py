from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cachediag.analysis.choice import Choice
from cachediag.demo.client import opening
from cachediag.demo.live.recorded import Told, record_made_up
from cachediag.demo.live.sized import conversation
from cachediag.demo.live.steps import LiveDemo
from cachediag.demo.script import Lane
from cachediag.demo.upstream import running_upstream
from cachediag.verify.backends import Live

if TYPE_CHECKING:
    from cachediag.model import Exchange


@pytest.fixture
def lane() -> Lane:
    return conversation(0, "tiny", lambda lane: len(opening(lane)))


@pytest.fixture(scope="session")
def choice() -> Choice:
    return LiveDemo().choice()


class Ear:
    """Keeps what was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stored: list[Exchange] = []
        self.told = Told(self.lines.append, self.stored.append)


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def session(home: Path, lane: Lane, choice: Choice, ear: Ear) -> Path:
    """The made-up conversation, recorded from a made-up server in the engine's place."""
    # Its replies are the script's; the client does not depend on them.
    with running_upstream(lane) as upstream:
        live = Live(upstream.url, "tiny")
        return record_made_up(live, 0, choice.counter, {"backend": "made up"}, ear.told)
